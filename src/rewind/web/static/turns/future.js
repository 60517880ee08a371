// The future turns of a branch: the parent's later turns, greyed, below the branch's own.

import {h, fill} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {api} from '../core/api.js';
import {state} from '../core/state.js';
import {go, to} from '../core/route.js';
import {plural, sessionTitle} from '../core/format.js';
import {renderTurn} from './turn.js';
import {loadingState, showError} from '../parts/states.js';

const PAGE = 25;
const MOST = 75; // together with the rows of the list, there are less than 200

export class Future {
  constructor(host, session, folds) {
    Object.assign(this, {host, session, folds, shown: false});
  }

  async toggle() {
    this.shown = !this.shown;
    fill(this.host);
    if (this.shown) await this.load(1);
  }

  async load(from) {
    const session = this.session();
    if (from === 1) fill(this.host, loadingState('Reading the future turns', 2));
    try {
      const page = await api.future(session.sessionId, from, PAGE);
      if (!this.shown) return;
      if (from === 1) fill(this.host, this.head(page, session));
      this.host.querySelector('.more-future')?.remove();
      const rows = page.turns.map(turn =>
        renderTurn(turn, {
          folds: this.folds(),
          session: page.parentSessionId,
          review: t => go(to.review(page.parentSessionId, t.turn)),
          greyed: true,
        }),
      );
      this.host.append(...rows, ...this.rest(page, from, session));
    } catch (error) {
      showError(this.host, error, () => this.load(from));
    }
  }

  head(page, session) {
    const parent = state.get(page.parentSessionId) || state.parentOf(session);
    return h(
      'div.future-head',
      {role: 'note'},
      icon('forward'),
      h(
        'p',
        page.total ? `${plural(page.total, 'turn')} of ` : 'Nothing came after this turn in ',
        parent ? h('a', {href: to.session(parent.sessionId)}, sessionTitle(parent)) : 'the parent',
        page.total ? ` that this branch was rewound past` : '',
      ),
    );
  }

  rest(page, from, session) {
    const next = from + page.turns.length;
    if (next > page.total) return [];
    const href = to.session(session.parentSessionId, session.rewindFromTurn + next);
    const more =
      next > MOST
        ? h('a', {href}, 'Continue reading in the parent')
        : h('button.quiet', {onclick: () => this.load(next)}, 'Show more future turns');
    return [h('p.more-future', more)];
  }

  end() {
    this.shown = false;
  }
}
