// Two branches side by side: their common turns, where they part, how each continues, and the code
// differences.

import {h, fill, listOf} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {api} from '../core/api.js';
import {state} from '../core/state.js';
import {go, to} from '../core/route.js';
import {age, oneLine, plural, sessionTitle} from '../core/format.js';
import {openModal} from '../parts/modal.js';
import {folded} from '../parts/fold.js';
import {renderTurn} from '../turns/turn.js';
import {fileList, filesOf, openDiff} from '../code/diff.js';
import {emptyState, loadingState, readInto} from '../parts/states.js';
import {say} from '../parts/toast.js';
import {View, viewHead} from '../parts/view.js';

export class CompareView extends View {
  constructor(host, {a, b}) {
    super(host);
    Object.assign(this, {a, b, folds: new Set(), side: 'a'});
    this.load();
  }

  async load() {
    fill(this.host, loadingState('Comparing the two branches'));
    try {
      const found = await api.compare(this.a, this.b);
      if (!this.ended)
        fill(
          this.host,
          this.head(found),
          h(
            'div.compare-scroll',
            {tabindex: '0', role: 'region', 'aria-label': 'Comparison'},
            this.common(found),
            this.code(found),
            this.tabs(found),
            this.columns(found),
          ),
        );
    } catch (error) {
      this.fail(error, () => this.load());
    }
    document.title = 'Compare – Rewind';
  }

  head(found) {
    const way = h('a', {href: to.session(this.a)}, icon('back'), sessionTitle(found.a.session));
    const actions = h(
      'div.actions',
      h('button.quiet', {onclick: () => go(to.compare(this.b, this.a))}, 'Swap sides'),
      h('button.quiet', {onclick: () => chooseOther(found.a.session)}, 'Other branch…'),
    );
    return viewHead('Compare', {way, beside: [h('span.grow'), actions]});
  }

  common({common: n}) {
    if (!n) return h('p.parting', icon('branch'), 'They have no turn in common.');
    const line = [h('strong', `${plural(n, 'turn')} in common`), h('span.muted', 'the same in both')];
    return h(
      'div',
      folded('common', line, h('div.common-list'), place => this.loadCommon(place, n)),
      h('p.parting', icon('branch'), `They part after turn ${n}`),
    );
  }

  loadCommon(place, n) {
    readInto(place, 'Reading the common turns', 2, async () => {
      const {turns} = await api.outline(this.a, 1, Math.min(n, 1000));
      return listOf('ol', turns, ({turn, prompt}) =>
        h(
          'a',
          {href: to.session(this.a, turn)},
          h('span.no', String(turn)),
          h('span.clip', oneLine(prompt, 120)),
        ),
      );
    });
  }

  code({code, a, b}) {
    const without = [code.a ? null : a, code.b ? null : b]
      .filter(Boolean)
      .map(side => `“${sessionTitle(side.session)}”`);
    if (without.length)
      return h(
        'p.code-none',
        icon('info'),
        `The code cannot be compared: ${without.join(' and ')} ` +
          `${without.length > 1 ? 'have' : 'has'} no checkpoint yet.`,
      );
    const files = filesOf(code);
    const total = code.addedCount + code.modifiedCount + code.deletedCount;
    const names = `from “${sessionTitle(a.session)}” to “${sessionTitle(b.session)}”`;
    if (!files.length) return h('p.code-none', icon('check'), 'Both ended with the same code.');
    return h(
      'details.code-diff',
      {open: total <= 8},
      h(
        'summary',
        icon('chevron'),
        h('strong', `${plural(total, 'file differs', 'files differ')} in code`),
        h('span.muted.clip', names),
      ),
      fileList(files, code.a, code.b),
    );
  }

  /** On a phone there is only room for one side at a time. */
  tabs(found) {
    const tab = side =>
      h(
        'button',
        {
          'aria-pressed': String(this.side === side),
          onclick: () => {
            this.side = side;
            this.host.querySelector('.columns').dataset.side = side;
            this.host.querySelector('.side-tabs').replaceWith(this.tabs(found));
          },
        },
        sessionTitle(found[side].session),
      );
    return h('div.side-tabs', {role: 'group', 'aria-label': 'Which branch to show'}, tab('a'), tab('b'));
  }

  columns(found) {
    return h('div.columns', {'data-side': this.side}, this.column(found.a, 'a'), this.column(found.b, 'b'));
  }

  column({session, turns}, side) {
    return h(
      `section.column.${side}`,
      {'aria-label': sessionTitle(session)},
      h(
        'header',
        h('h2', h('a', {href: to.session(session.sessionId)}, sessionTitle(session))),
        h(
          'p.meta',
          h('span', session.agentTitle || session.agent),
          h('span', plural(session.turns, 'turn')),
          h('time', {datetime: session.modified}, age(session.modified)),
        ),
      ),
      turns.length
        ? turns.map(t => this.turn(t, session))
        : emptyState('Ends here', 'This branch has no turns of its own yet.'),
    );
  }

  turn(turn, session) {
    return renderTurn(
      {...turn, truncated: false},
      {
        session: session.sessionId,
        review: t => go(to.review(session.sessionId, t.turn)),
        folds: this.folds,
        link: t => to.session(session.sessionId, t.turn),
        diff: (t, file) =>
          t.changes.from
            ? openDiff(t.changes.from, t.changes.to || 'now', file.path)
            : say('Open the session to see this difference.', {kind: 'info'}),
      },
    );
  }
}

/** Asks for the other session to compare with. Near relatives come first. */
export function chooseOther(session) {
  const others = nearFirst(session);
  if (!others.length)
    return say('There is no other session to compare with yet. Rewind to a turn to make a branch.', {
      kind: 'info',
    });
  const {body, close, dialog} = openModal('Compare with');
  const pick = other => {
    close();
    go(to.compare(session.sessionId, other.sessionId));
  };
  const list = listOf('ul.pick', others.slice(0, 200), ({session: other, relation}) =>
    h(
      'button.pick-row',
      {onclick: () => pick(other)},
      h('span.clip', sessionTitle(other)),
      h(
        'span.muted',
        [relation, plural(other.turns, 'turn'), age(other.modified)].filter(Boolean).join(' · '),
      ),
    ),
  );
  list.addEventListener('keydown', event => {
    const all = [...list.querySelectorAll('button')];
    const to_ = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (to_) {
      event.preventDefault();
      all[all.indexOf(document.activeElement) + to_]?.focus();
    }
  });
  body.append(h('p.muted', `“${sessionTitle(session)}” on the left, and on the right:`), list);
  dialog.querySelector('.pick-row').focus();
  return undefined;
}

function nearFirst(session) {
  const rank = s =>
    s.sessionId === session.parentSessionId
      ? 0
      : s.parentSessionId === session.sessionId
        ? 1
        : s.parentSessionId && s.parentSessionId === session.parentSessionId
          ? 2
          : 3;
  const words = ['parent', 'branch of this', 'same parent', ''];
  return [...state.sessions.values()]
    .filter(s => s.sessionId !== session.sessionId)
    .map(s => ({session: s, at: rank(s), relation: words[rank(s)]}))
    .sort((x, y) => x.at - y.at || String(y.session.modified).localeCompare(String(x.session.modified)));
}
