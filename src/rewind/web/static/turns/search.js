// Search in one session: asks the server, moves between matches, and marks the words in view.

import {h, fill, listOf} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {api} from '../core/api.js';
import {afterPause} from '../core/order.js';
import {inProject, oneLine, plural} from '../core/format.js';

const WAIT = 220;
const BEFORE = 18; // characters before a match

/** `jump(match, words, focus)` shows a match, and focuses its turn if `focus`. `leave()` returns the focus to
 * the turns. */
export class Search {
  constructor(session, jump, leave) {
    Object.assign(this, {session, jump, leave, matches: [], at: -1});
    this.field = h('input', {
      type: 'search',
      placeholder: 'Search',
      'aria-label': 'Search this session',
      autocomplete: 'off',
      oninput: afterPause(() => this.run(), WAIT),
      onfocus: () => (this.results.hidden = !this.matches.length),
      onkeydown: event => this.onKey(event),
    });
    this.count = h('span.search-count', {role: 'status'});
    this.results = h('div.results', {hidden: true});
    this.node = h(
      'div.search',
      {onfocusout: event => this.left(event.relatedTarget)},
      h('div.search-box', icon('search'), this.field, this.count),
      this.results,
    );
  }

  left(to) {
    if (!this.node.contains(to)) this.results.hidden = true;
  }

  async run() {
    const words = this.field.value.trim();
    this.aborter?.abort();
    if (words.length < 2) return this.clear();
    this.aborter = new AbortController();
    try {
      const {matches, more} = await api.search(this.session, words, this.aborter.signal);
      this.matches = matches;
      this.at = -1;
      this.count.textContent = matches.length ? `${matches.length}${more ? '+' : ''}` : 'none';
      this.count.title = plural(matches.length, 'match', 'matches');
      this.show(words, more);
    } catch (error) {
      if (error.name === 'AbortError') return undefined;
      this.count.textContent = 'failed';
      fill(this.results, h('p.muted', `${error.message} ${error.hint}`));
      this.results.hidden = false;
    }
    return this.paint();
  }

  show(words, more) {
    this.results.hidden = false;
    if (!this.matches.length)
      return fill(this.results, h('p.muted', `Nothing in this session contains “${words}”.`));
    return fill(
      this.results,
      listOf('ul', this.matches, (m, i) =>
        h(
          'button.result-row',
          {onclick: () => this.goTo(i)},
          h('span.no', String(m.turn)),
          h('span.where', m.where),
          h('span.clip', marked(around(oneLine(inProject(m.snippet), 400), words), words)),
        ),
      ),
      more ? h('p.muted', 'There are more matches than are shown.') : null,
    );
  }

  /** Starts with the match in this turn, after a search of all sessions. */
  async begin(words, turn) {
    this.field.value = words;
    await this.run();
    const at = this.matches.findIndex(match => match.turn === turn);
    if (at >= 0) this.goTo(at);
  }

  goTo(index, focus = true) {
    if (!this.matches.length) return;
    this.at = (index + this.matches.length) % this.matches.length;
    this.count.textContent = `${this.at + 1} of ${this.matches.length}`;
    this.results.hidden = true;
    this.jump(this.matches[this.at], this.field.value.trim(), focus);
  }

  onKey(event) {
    if (event.key === 'Enter') {
      event.preventDefault();
      this.goTo(this.at + (event.shiftKey ? -1 : 1), false);
      this.results.hidden = true;
    } else if (event.key === 'ArrowDown') {
      event.preventDefault();
      this.results.querySelector('button')?.focus();
    } else if (event.key === 'Escape') {
      event.preventDefault();
      event.stopPropagation();
      this.field.value = '';
      this.clear();
      this.leave();
    }
  }

  clear() {
    this.matches = [];
    this.count.textContent = '';
    this.results.hidden = true;
    this.paint();
  }

  /** Marks the words in the rows that are drawn, without touching the rows. */
  paint(rows = this.rows) {
    this.rows = rows;
    if (!globalThis.CSS?.highlights) return;
    const words = this.field.value.trim().toLowerCase();
    CSS.highlights.delete('found');
    if (!words) CSS.highlights.delete('here');
    if (words.length < 2 || !rows) return;
    CSS.highlights.set('found', new Highlight(...rangesOf(rows, words)));
  }
}

/** The range of the words of a match in an unfolded row. null if they are not drawn. */
export function findIn(root, words) {
  return rangesOf(root, words.toLowerCase())[0] || null;
}

/** Marks the current match. */
export function markHere(range) {
  globalThis.CSS?.highlights?.set('here', new Highlight(range));
}

function rangesOf(root, words) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const ranges = [];
  while (walker.nextNode() && ranges.length < 2000) {
    const text = walker.currentNode.data.toLowerCase();
    for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + words.length)) {
      const range = new Range();
      range.setStart(walker.currentNode, at);
      range.setEnd(walker.currentNode, Math.min(at + words.length, walker.currentNode.length));
      ranges.push(range);
    }
  }
  return ranges;
}

/** The text with the match near its beginning, because a line that is too long is cut at its end. */
function around(text, words) {
  const at = text.toLowerCase().indexOf(words.toLowerCase());
  return at > BEFORE + 8 ? `…${text.slice(at - BEFORE)}` : text;
}

export function marked(text, words) {
  const at = text.toLowerCase().indexOf(words.toLowerCase());
  if (at < 0) return [text];
  return [text.slice(0, at), h('mark', text.slice(at, at + words.length)), text.slice(at + words.length)];
}
