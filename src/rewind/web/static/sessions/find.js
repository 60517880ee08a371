// Searches texts and changed files in all sessions of the project.

import {h, fill, listOf} from '../core/element.js';
import {api} from '../core/api.js';
import {state} from '../core/state.js';
import {to} from '../core/route.js';
import {age, inProject, oneLine, plural, sessionTitle} from '../core/format.js';
import {emptyState, loadingState} from '../parts/states.js';
import {marked} from '../turns/search.js';
import {View, toSessions, viewHead} from '../parts/view.js';

const AGAIN = 400; // milliseconds

export class FindView extends View {
  constructor(host, {words}) {
    super(host);
    document.title = 'Search – Rewind';
    this.load(words);
  }

  /** With `again`, the matches so far stay until there are more. */
  async load(words, again = false) {
    this.words = words;
    const head = viewHead(`Search for “${oneLine(words, 60)}”`, {way: toSessions()});
    if (!again) fill(this.host, head, loadingState('Searching all sessions'));
    try {
      const found = await api.find(words);
      if (this.ended || words !== this.words) return;
      const total = found.found.reduce((sum, one) => sum + one.matches.length, 0);
      const partly = found.complete === false; // the server continues to search, and finds more the next time
      fill(this.host, head, h('div.finds', total ? this.all(found, total) : partly ? null : this.none()));
      if (partly) {
        this.host.append(loadingState('Looking through older turns', 1));
        setTimeout(() => this.again(words), AGAIN);
      }
    } catch (error) {
      this.fail(error, () => this.load(words), head);
    }
  }

  again(words) {
    if (!this.ended && words === this.words) this.load(words, true);
  }

  none() {
    return emptyState(
      'No match',
      `Nothing that was said or changed in this project contains “${this.words}”.`,
    );
  }

  all(found, total) {
    return [
      h(
        'p.muted',
        {role: 'status'},
        `${plural(total, 'match', 'matches')} in ${plural(found.found.length, 'session')}`,
      ),
      found.found.map(one => this.session(one)),
      found.more ? h('p.muted', 'There is more than is shown. Search for something longer.') : null,
    ];
  }

  session({sessionId, matches}) {
    const session = state.get(sessionId);
    return h(
      'section.find-session',
      h(
        'h2',
        session ? sessionTitle(session) : sessionId,
        session ? h('small.muted', age(session.modified)) : null,
      ),
      listOf('ul', matches, match => this.match(sessionId, match)),
    );
  }

  match(sessionId, {turn, where, snippet, status}) {
    const href = where === 'file' ? to.review(sessionId, turn) : to.session(sessionId, turn, this.words);
    return h(
      'a.result-row',
      {href},
      h('span.no', String(turn)),
      h('span.where', where),
      h(
        'span.clip',
        marked(oneLine(inProject(snippet), 300), this.words),
        status ? h('em.muted', ` ${status}`) : null,
      ),
    );
  }

  goTo({words}) {
    if (words && words !== this.words) this.load(words);
  }
}
