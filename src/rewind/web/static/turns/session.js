// One session: its header, the turns, and the actions on them.

import {h, fill, inPlace} from '../core/element.js';
import {renew} from '../core/renew.js';
import {icon, iconButton} from '../parts/icons.js';
import {api, wire} from '../core/api.js';
import {state} from '../core/state.js';
import {go, replace, to} from '../core/route.js';
import {age, bytes, number, plural, sessionTitle} from '../core/format.js';
import {asPage, command, emptyState, loadingState, notice} from '../parts/states.js';
import {TurnList} from './turnlist.js';
import {Pushed} from './pushed.js';
import {Shape} from './shape.js';
import {Scrubber} from './scrubber.js';
import {renderTurn, renewReason} from './turn.js';
import {Search, findIn, markHere} from './search.js';
import {Future} from './future.js';
import {openOutline} from './outline.js';
import {openMenu} from '../parts/menu.js';
import {openDiff} from '../code/diff.js';
import {openRewind} from '../plans/rewind.js';
import {openRestore} from '../plans/restore.js';
import {openRevert, whyNotRevert} from '../plans/revert.js';
import {chooseOther} from '../sessions/compare.js';
import {markTurn} from '../code/mark.js';
import {branchActions, fastForward} from '../sessions/branches.js';
import {mark} from '../sessions/tree.js';
import {copyText} from '../parts/copy.js';
import {announce, say, sayError} from '../parts/toast.js';
import {LATER} from '../core/keyboard.js';
import {View} from '../parts/view.js';

const NOTHING_BEFORE = 'No checkpoint was saved before the first turn.';
const NOT_HERE = 'It may have been deleted, or it belongs to another project.';
const NO_PROMPTS = 'This session has no prompts. They appear here as soon as the first one is sent.';
const RUNNING = 'A turn is running. Rewinding is possible again when it has ended.';

export class SessionView extends View {
  constructor(host, {session, turn, words}) {
    super(host);
    Object.assign(this, {id: session, start: turn, words, folds: new Set()});
    this.filter = {changed: false, failed: false, quiet: false};
    this.head = h('header.session-head');
    this.bar = h('div.turn-bar');
    this.alerts = h('div.alerts');
    this.list = new TurnList(t => this.row(t));
    this.list.node.addEventListener('scroll', () => this.shrink(), {passive: true});
    this.future = new Future(
      this.list.after,
      () => this.session,
      () => this.folds,
    );
    this.shape = new Shape(session);
    this.scrubber = new Scrubber(this.shape, {jump: n => this.jump(n), open: n => this.rewindBefore(n)});
    this.search = new Search(
      session,
      (match, words, focus) => this.showMatch(match, words, focus),
      () => this.focusCurrent(),
    );
    this.list.addEventListener('current', () => this.renderCounter());
    this.list.addEventListener('window', () => {
      this.renderCounter();
      this.search.paint(this.list.rows);
    });
    this.list.addEventListener('failed', event => sayError(event.detail));
    this.listen(state, 'sessions', () => this.sessionChanged());
    this.parent = this.session?.parentSessionId;
    if (this.session) this.follow();
    this.opening = true;
    this.ready = this.load().finally(() => {
      this.opening = false;
    });
  }

  get session() {
    return state.get(this.id);
  }

  async load() {
    if (!this.session) {
      const way = h('a.button', {href: to.home()}, 'Show the sessions');
      return fill(this.host, asPage(emptyState('This session is not here', NOT_HERE, way)));
    }
    fill(this.host, this.head, loadingState('Reading the conversation'));
    this.renderHead();
    try {
      this.buildBar();
      fill(this.host, this.head, this.bar, this.alerts, this.list.node, this.pill());
      this.renderAlerts();
      this.list.wait(loadingState('Reading the conversation'));
      const start = this.start;
      await this.list.open(this.id, start);
      this.shape.load(); // do not wait for it, because the turns are more important
      if (this.words) this.search.begin(this.words, start);
      if (this.start !== start) await this.jump(this.start); // requested while the turns were read
      if (!this.list.total) fill(this.list.after, emptyState('Nothing said yet', NO_PROMPTS));
    } catch (error) {
      this.fail(error, () => this.reopen(), this.head);
    }
    return undefined;
  }

  row(turn) {
    const node = renderTurn(turn, this.context());
    node.classList.toggle('skipped', this.skips(turn));
    return node;
  }

  /** The header gets smaller while a person reads, and has its full size at the beginning. */
  shrink() {
    const {scrollTop, scrollHeight, clientHeight} = this.list.node;
    if (scrollTop > 140 && scrollHeight - clientHeight > 500) this.head.classList.add('compact');
    else if (scrollTop < 20) this.head.classList.remove('compact');
  }

  // turns that are shown completely

  skips(turn) {
    const files = turn.changes ? turn.changes.files.length : turn.files;
    return (this.filter.changed && !files) || (this.filter.failed && !turn.failures);
  }

  filterMenu(anchor) {
    const item = (key, label) => ({
      label,
      checked: this.filter[key],
      run: () => this.setFilter(key, !this.filter[key]),
    });
    const items = [
      item('changed', 'Only turns that changed files'),
      item('failed', 'Only turns with failures'),
      null,
    ];
    openMenu([...items, item('quiet', 'Hide thinking')], {anchor, label: 'Filter'});
  }

  setFilter(key, on) {
    this.filter[key] = on;
    this.filterButton.setAttribute('aria-pressed', String(Object.values(this.filter).some(Boolean)));
    this.list.node.classList.toggle('quiet', this.filter.quiet);
    this.list.keepPosition(() => {
      for (const turn of this.list.turns.values())
        this.list.row(turn.turn)?.classList.toggle('skipped', this.skips(turn));
    });
    const words = on ? 'Filter on.' : 'Filter off.';
    announce(
      this.shape.turns.length
        ? `${words} ${plural(this.shape.turns.filter(t => !this.skips(t)).length, 'turn')}.`
        : words,
    );
  }

  context() {
    return {
      session: this.id,
      folds: this.folds,
      whyNot: turn => this.whyNotBefore(turn),
      rewind: turn => this.rewind(this.known(turn)),
      menu: (turn, place) => this.turnMenu(this.known(turn), place),
      whole: turn => this.showWhole(turn),
      diff: (turn, file) => this.showDiff(turn, file),
      review: turn => go(to.review(this.id, turn.turn)),
    };
  }

  // header

  renderHead() {
    const session = this.session;
    if (!session) return;
    document.title = `${sessionTitle(session)} – Rewind`;
    const parts = [
      this.crumbs(session),
      h(
        'div.title-row',
        {'data-part': 'title'},
        h('h1', {tabindex: '-1', 'data-key': 'title'}, sessionTitle(session)),
        badge(session),
        mark(session),
        h('span.grow'),
        this.actions(),
      ),
      h(
        'p.meta',
        h('span', session.agentTitle || session.agent),
        h('span', plural(session.turns, 'turn')),
        h('time', {datetime: session.modified, title: session.modified}, age(session.modified)),
        h('span', bytes(session.bytes)),
        h('code.id', {title: session.sessionId}, session.sessionId.slice(0, 8)),
      ),
      this.origin(session),
      session.resume ? h('div.continue', h('span.label', 'Continue with'), command(session.resume)) : null,
    ];
    inPlace(this.head, () => renew(this.head, parts));
  }

  crumbs(session) {
    const above = state.ancestors(session).map(a => {
      const title = sessionTitle(a);
      return h('li', h('a.clip', {href: to.session(a.sessionId), title}, title), icon('chevron'));
    });
    const here = h('li', {'aria-current': 'page'}, h('span.clip', sessionTitle(session)));
    return h(
      'nav.crumbs',
      {'aria-label': 'Breadcrumb'},
      h('a.to-tree', {href: to.home(), 'aria-label': 'All sessions'}, icon('back'), 'Sessions'),
      above.length ? h('ol', above, here) : null,
    );
  }

  actions() {
    const compare = {
      'data-key': 'compare',
      'aria-label': 'Compare',
      title: 'Compare with another session (c)',
      onclick: () => chooseOther(this.session),
    };
    const more = {
      'data-key': 'more',
      'aria-haspopup': 'menu',
      'aria-expanded': 'false',
      'aria-label': 'Branch actions',
      onclick: event =>
        openMenu(branchActions(this.session), {anchor: event.currentTarget, label: 'Branch actions'}),
    };
    return h(
      'div.actions',
      h('button.quiet', compare, icon('columns'), h('span', 'Compare')),
      h('button.quiet', more, icon('more')),
    );
  }

  origin(session) {
    if (!session.parentSessionId || !session.rewindFromTurn) return null;
    const parent = state.parentOf(session);
    const name = parent
      ? h('a', {href: to.session(parent.sessionId, session.rewindFromTurn)}, sessionTitle(parent))
      : 'a session that is gone';
    return h(
      'div.origin',
      icon('rewind'),
      h('p', `Rewound from turn ${session.rewindFromTurn} of `, name),
      h('span.grow'),
      parent ? this.waysForward() : null,
    );
  }

  waysForward() {
    const {shown} = this.future;
    const view = {'data-key': 'future', 'aria-pressed': String(shown), onclick: () => this.toggleFuture()};
    const forward = {'data-key': 'forward', onclick: () => fastForward(this.session)};
    return [
      h('button.quiet', view, shown ? 'Hide future turns' : 'View future turns'),
      h('button.quiet', forward, icon('forward'), h('span', 'Fast-forward')),
    ];
  }

  async toggleFuture() {
    await this.future.toggle();
    this.renderHead();
    if (this.future.shown) {
      if (this.list.last < this.list.total) await this.list.show(null);
      this.list.after.scrollIntoView({block: 'start'});
    }
  }

  // turn navigation

  buildBar() {
    this.previous = iconButton('up', 'Previous turn', () => this.step(-1), {title: 'Previous turn (k)'});
    this.next = iconButton('down', 'Next turn', () => this.step(1), {title: 'Next turn (j)'});
    this.filterButton = h(
      'button.quiet.filter',
      {
        'aria-label': 'Filter turns',
        title: 'Filter turns',
        'aria-haspopup': 'menu',
        'aria-expanded': 'false',
        'aria-pressed': 'false',
        onclick: event => this.filterMenu(event.currentTarget),
      },
      icon('filter'),
    );
    this.counter = h('button.counter', {
      'aria-haspopup': 'dialog',
      'aria-expanded': 'false',
      onclick: () => this.outline(),
    });
    fill(
      this.bar,
      h(
        'div.stepper',
        {role: 'group', 'aria-label': 'Turn navigation'},
        this.previous,
        h('div.outline-home', this.counter),
        this.next,
      ),
      this.scrubber.node,
      this.filterButton,
      this.search.node,
    );
    this.renderCounter();
  }

  renderCounter() {
    if (!this.counter) return;
    const {current, total} = this.list;
    fill(
      this.counter,
      total ? `Turn ${number(current || total)} of ${number(total)}` : 'No turns',
      icon('down'),
    );
    this.scrubber.setCurrent(current);
    this.counter.disabled = !total;
    this.previous.disabled = !total || current <= 1;
    this.next.disabled = !total || current >= total;
    if (current && location.hash.startsWith(to.session(this.id)))
      replace(to.session(this.id, current === total ? null : current));
    if (current >= total) this.newTurns(0);
  }

  outline() {
    if (this.counter.getAttribute('aria-expanded') === 'true') return;
    openOutline(this.counter, this.shape, this.list.current || 1, this.list.total, turn => this.jump(turn));
  }

  async step(by) {
    let wanted = (this.list.goal || this.list.current || 1) + by;
    while (this.shape.turn(wanted) && this.skips(this.shape.turn(wanted))) wanted += by;
    if (wanted >= 1 && wanted <= this.list.total) await this.jump(wanted);
  }

  jump(turn, options = {}) {
    return this.list.moveTo(turn, options).catch(sayError);
  }

  /** Goes to a match, unfolds the part that contains it, and scrolls to the words. */
  async showMatch(match, words, focus) {
    if (this.opening) await this.ready; // a search may have an answer before the turns are loaded
    await this.jump(match.turn, {focus});
    const row = this.list.row(match.turn);
    if (!row) return;
    const place = await this.unfold(row, match);
    let range = findIn(place, words) || findIn(row, words);
    if (!range && this.list.turns.get(match.turn)?.truncated) {
      await this.showWhole({turn: match.turn});
      range = findIn(await this.unfold(row, match), words);
    }
    if (!range) return;
    markHere(range);
    this.list.center(range);
  }

  async unfold(row, match) {
    if (match.block === null || match.block === undefined) return row.querySelector('.prompt') || row;
    const run = row.querySelector(`details.run[data-blocks~="${match.block}"]`);
    if (run && !run.open) {
      run.open = true;
      await new Promise(resolve => run.addEventListener('toggle', resolve, {once: true}));
    }
    const place = row.querySelector(`[data-block="${match.block}"]`);
    if (!place) return row;
    for (let at = place; at && at !== row; at = at.parentElement)
      if (at.tagName === 'DETAILS') at.open = true;
    await this.drawn(place);
    return place;
  }

  /** Waits until an unfolded part is drawn, which may have to be read first. */
  async drawn(place) {
    for (let tries = 0; tries < 60; tries += 1) {
      const body = place.querySelector(':scope > .fold-body');
      if (!body || (body.firstChild && !body.querySelector('.loading'))) return;
      await new Promise(resolve => setTimeout(resolve, 50));
    }
  }

  focusCurrent() {
    (this.list.row(this.list.current) || this.list.node).focus({preventScroll: true});
  }

  // actions on a turn

  currentTurn() {
    return this.list.turns.get(this.list.current);
  }

  /** Why the session cannot be rewound to this turn now, or null. */
  whyNot(turn) {
    if (this.session?.busy) return RUNNING;
    return turn.canRewind ? null : turn.reason || 'This turn cannot be rewound to.';
  }

  /** The newest data of a turn. That in the row may be older. */
  known(turn) {
    return this.list.turns.get(turn.turn) || turn;
  }

  /** Rewinds to before a turn, or with `after` to after it. Before the first turn there is only code. */
  rewind(turn, options = {}) {
    const reason = options.after ? this.whyNot(turn) : this.whyNotBefore(turn);
    if (reason) return say(reason, {kind: 'info'});
    if (turn.turn > 1 || options.after) return openRewind(this.session, turn, options);
    const point = {name: turn.changes.from, description: 'Before the first prompt'};
    return openRestore(point, [], () => {});
  }

  whyNotBefore(turn) {
    if (turn.turn === 1 && !turn.changes?.from) return NOTHING_BEFORE;
    return this.whyNot(turn);
  }

  /** Called by the scrubber, whose turn may not have been read yet. */
  async rewindBefore(number) {
    try {
      const turn = this.list.turns.get(number) || (await api.turns(this.id, number, 1)).turns[0];
      if (turn) this.rewind(turn, {mode: 'both'});
    } catch (error) {
      sayError(error);
    }
  }

  turnMenu(turn, place) {
    this.list.setCurrent(turn.turn);
    openMenu(
      [
        {
          label: 'Rewind to before this',
          keys: 'r',
          reason: this.whyNotBefore(turn),
          run: () => this.rewind(turn),
        },
        {
          label: 'Rewind to after this',
          reason: this.whyNot(turn),
          run: () => this.rewind(turn, {after: true}),
        },
        {
          label: 'Take back only this turn…',
          reason: this.session.busy ? this.whyNot(turn) : whyNotRevert(turn),
          run: () => openRevert(this.session, turn),
        },
        {label: 'Files after this turn', run: () => go(to.files(turn.changes?.to || turn.checkpoint?.name))},
        {label: 'Mark as checkpoint…', run: () => markTurn(this.session, turn)},
        null,
        {
          label: 'Copy the prompt',
          run: () => copyText(turn.prompt).then(done => done && say('Copied.')),
        },
      ],
      {...place, label: `Turn ${turn.turn}`},
    );
  }

  showWhole(turn) {
    return this.list.readWhole(turn.turn).catch(sayError);
  }

  async showDiff(turn, file) {
    const before = turn.changes.from || (await this.codeBefore(turn.turn));
    const after = turn.changes.to || turn.checkpoint?.name || 'now';
    if (!before) return say('There is no checkpoint from before this turn to compare with.', {kind: 'info'});
    return openDiff(before, after, file.path);
  }

  async codeBefore(turn) {
    if (turn <= 1) return null;
    try {
      const before = this.list.turns.get(turn - 1) || (await api.turns(this.id, turn - 1, 1)).turns[0];
      return before?.checkpoint?.name;
    } catch (_) {
      return null;
    }
  }

  // changes from elsewhere

  pill() {
    this.more = h('button.pill', {
      hidden: true,
      onclick: () => {
        this.newTurns(0);
        this.list.show(null);
      },
    });
    return this.more;
  }

  newTurns(n) {
    if (!this.more) return;
    this.more.hidden = !n;
    fill(this.more, icon('down'), `${plural(n, 'new turn')} below`);
  }

  /** Asks the server to push new turns with their content, so that they need not be read. */
  follow() {
    this.pushes = new Pushed();
    wire.request('follow', {sessionId: this.id}).catch(() => {}); // in that case they are read
  }

  /** The pushed page, completed from earlier pushes. */
  wholePage(page) {
    const whole = page && this.pushes ? this.pushes.whole(page) : null;
    if (page && !whole) this.follow();
    return whole;
  }

  /** Handles many pushes in a row as one change. `page` has the last turns from the server. */
  turnsAdded(total, page = null) {
    this.wanted = total;
    this.pushed = this.wholePage(page);
    if (this.soon) return;
    this.soon = setTimeout(() => this.readNew(), 300);
  }

  /**
   * A checkpoint was made, which concerns the last turns, or one was collected, which may concern any turn.
   */
  codeChanged(collected, page = null) {
    this.shape.changed();
    if (collected) this.list.refresh().catch(() => {});
    else this.turnsAdded(Math.max(this.wanted || 0, this.list.total, page?.total || 0), page);
  }

  async readNew() {
    await this.ready; // the answer that is being read may be older than this push
    this.soon = null;
    if (!this.session) return undefined;
    if (state.beingDeleted.has(this.id)) return this.turnsAdded(this.wanted); // in case the deletion fails
    const total = this.wanted;
    const had = this.list.total;
    if (total !== had) this.shape.changed(); // the bar of a running turn is drawn at its end
    if (!had) return this.reopen();
    try {
      const seen = await this.list.grow(total, this.pushed);
      if (total > had) announce(`${plural(total - had, 'new turn')}.`);
      if (!seen && total > had) this.newTurns(total - had);
    } catch (error) {
      sayError(error);
    }
    return undefined;
  }

  async sessionChanged() {
    const session = this.session;
    if (!session) {
      this.gone();
      return;
    }
    this.parent = session.parentSessionId;
    if (!this.counter) {
      await this.reopen();
      return;
    }
    this.renderHead();
    if (this.busy === session.busy) return;
    this.renderAlerts();
    for (const turn of this.list.turns.values())
      renewReason(this.list.row(turn.turn), this.whyNotBefore(turn));
  }

  /** If the branch was undone or deleted, shows the session from which it was made. */
  gone() {
    const parent = state.loaded && this.counter && state.get(this.parent);
    if (!parent || !location.hash.startsWith(to.session(this.id))) return;
    go(to.session(parent.sessionId));
  }

  reopen() {
    this.ready = this.load();
    return this.ready;
  }

  renderAlerts() {
    this.busy = this.session?.busy;
    fill(this.alerts, this.busy ? notice('running', RUNNING) : null);
  }

  // keyboard

  key(name) {
    const turn = this.currentTurn();
    const actions = {
      j: () => this.step(1),
      k: () => this.step(-1),
      r: () => turn && this.rewind(turn),
      c: () => this.session && chooseOther(this.session),
      y: () => this.copyResume(),
      '/': () => this.search.field.focus(),
      v: () => turn?.changes?.files.length && go(to.review(this.id, turn.turn)),
      f: () => this.session?.rewindFromTurn && this.toggleFuture(),
    };
    if (!(name in actions) || !this.counter) return false;
    if ('jkrv'.includes(name) && this.opening) return LATER;
    actions[name]();
    return true;
  }

  async copyResume() {
    const {resume} = this.session || {};
    if (resume && (await copyText(resume))) say('The command is copied.', {hint: resume});
  }

  /** Goes to another turn of the session that is already shown. */
  goTo({turn, words}) {
    if (words) this.search.begin(words, turn);
    else if (turn && !this.list.total) this.start = turn;
    else if (turn && turn !== this.list.current) this.jump(turn);
  }

  end() {
    super.end();
    this.list.end();
    this.shape.end();
    clearTimeout(this.soon);
    this.future.end();
    for (const name of ['found', 'here']) globalThis.CSS?.highlights?.delete(name);
  }
}

function badge(session) {
  if (!session.parentSessionId) return null;
  return h(
    'span.badge',
    icon('branch'),
    session.rewindFromTurn ? `Branch · turn ${session.rewindFromTurn}` : 'Branch',
  );
}
