// The session as a row of bars, one for each turn. The height shows the changed lines, red means a failure.
// Hovering shows a turn, a click goes there, dragging shows which files would change, releasing opens the
// plan.

import {h, fill, listOf, svg} from '../core/element.js';
import {api} from '../core/api.js';
import {state} from '../core/state.js';
import {number, oneLine, plural} from '../core/format.js';
import {figureWords} from './figures.js';

const MOST_BARS = 360;
const HEIGHT = 32;
const DRAG = 5; // a press that moves more pixels is a drag
const WAIT = 180; // milliseconds without movement before a plan is read
const NAMED = 6;

export class Scrubber {
  /** `jump(turn)` shows a turn. `open(turn)` opens the plan to rewind to before it. */
  constructor(shape, {jump, open}) {
    Object.assign(this, {shape, jump, open, at: null, current: null, plans: new Map()});
    this.bars = svg('svg', {
      class: 'bars',
      preserveAspectRatio: 'none',
      'aria-hidden': 'true',
      focusable: 'false',
    });
    this.marks = h('div.marks', {'aria-hidden': 'true'});
    this.tip = h('div.scrub-tip', {hidden: true, role: 'status'});
    this.track = h(
      'div.track',
      {
        role: 'slider',
        tabindex: '0',
        'aria-label': 'Turns of this session',
        'aria-orientation': 'horizontal',
        onpointermove: event => this.moved(event),
        onpointerdown: event => this.pressed(event),
        onpointerup: event => this.released(event),
        onpointercancel: () => this.leave(),
        onpointerleave: () => this.press || this.leave(),
        onkeydown: event => this.onKey(event),
        onblur: () => this.leave(),
        onfocus: () => this.aim(this.current || this.total),
      },
      this.bars,
      this.marks,
    );
    this.node = h('div.scrubber', {hidden: true}, this.track, this.tip);
    shape.addEventListener('shape', () => this.render());
  }

  get total() {
    return this.shape.turns.length;
  }

  // drawing

  render() {
    this.plans.clear();
    this.node.hidden = this.total < 2;
    if (this.node.hidden) return;
    this.step = Math.ceil(this.total / MOST_BARS);
    const groups = this.groups();
    const most = Math.max(...groups.map(group => group.lines), 1);
    this.bars.setAttribute('viewBox', `0 0 ${groups.length * 10} ${HEIGHT}`);
    this.bars.replaceChildren(...groups.map((group, at) => bar(group, at, most)));
    fill(this.marks, this.allMarks());
    this.node.style.maxWidth = `${this.total * 44}px`; // a few turns need little room
    this.renderCurrent();
  }

  /** In a long session, a bar stands for several turns. */
  groups() {
    const found = [];
    for (let from = 0; from < this.total; from += this.step) {
      const turns = this.shape.turns.slice(from, from + this.step);
      found.push({
        lines: Math.max(...turns.map(t => (t.added || 0) + (t.removed || 0))),
        failed: turns.some(t => t.failures),
        turns,
      });
    }
    return found;
  }

  allMarks() {
    const forks = new Map();
    for (const child of state.childrenOf(this.shape.session)) {
      if (child.rewindFromTurn) forks.set(child.rewindFromTurn, (forks.get(child.rewindFromTurn) || 0) + 1);
    }
    const found = [];
    for (const turn of this.shape.turns) {
      const n = turn.turn;
      if (turn.compactedBefore) found.push(this.mark('compacted', n - 1));
      if (turn.saved?.length) found.push(this.mark('saved', n - 0.5));
      if (turn.edited) found.push(this.mark('edited', n));
      if (forks.has(n)) found.push(this.mark('forked', n));
    }
    if (this.shape.here !== null) found.push(this.mark('disk', this.shape.here));
    return found.slice(-400);
  }

  /** `at` counts turns from the left edge. */
  mark(kind, at) {
    const node = h(`i.mark-on.${kind}`);
    node.style.left = `${(100 * at) / this.total}%`;
    return node;
  }

  setCurrent(turn) {
    this.current = turn;
    this.renderCurrent();
  }

  renderCurrent() {
    if (!this.total) return;
    const shown = this.at || this.current || this.total;
    this.marks.querySelectorAll('.now').forEach(node => node.remove());
    const now = this.mark('now', shown - 1);
    now.classList.toggle('aimed', this.at !== null);
    now.style.width = `max(3px, ${100 / this.total}%)`;
    this.marks.append(now);
    const turn = this.shape.turn(shown);
    const words = turn
      ? [`Turn ${shown}: ${oneLine(turn.prompt, 80)}`, figureWords(turn)].filter(Boolean).join('. ')
      : '';
    for (const [name, value] of [
      ['min', 1],
      ['max', this.total],
      ['now', shown],
      ['text', words],
    ])
      this.track.setAttribute(`aria-value${name}`, value);
  }

  // aiming

  turnAt(event) {
    const box = this.track.getBoundingClientRect();
    const part = (event.clientX - box.left) / box.width;
    return Math.max(1, Math.min(this.total, Math.floor(part * this.total) + 1));
  }

  moved(event) {
    if (!this.total) return;
    if (this.press && Math.abs(event.clientX - this.press.x) > DRAG) this.press.dragging = true;
    this.aim(this.turnAt(event), Boolean(this.press?.dragging));
  }

  pressed(event) {
    if (event.button !== 0) return;
    this.press = {x: event.clientX, dragging: false};
    this.track.setPointerCapture(event.pointerId);
  }

  released(event) {
    const {press} = this;
    this.press = null;
    if (!press) return;
    const turn = this.turnAt(event);
    this.leave();
    if (press.dragging) this.open(turn);
    else this.jump(turn);
  }

  onKey(event) {
    const from = this.at || this.current || this.total;
    const moves = {
      ArrowLeft: from - 1,
      ArrowDown: from - 1,
      ArrowRight: from + 1,
      ArrowUp: from + 1,
      PageUp: from + 10,
      PageDown: from - 10,
      Home: 1,
      End: this.total,
    };
    if (event.key in moves) this.aim(Math.max(1, Math.min(this.total, moves[event.key])), true);
    else if (event.key === 'Enter') this.open(from);
    else if (event.key === ' ') this.jump(from);
    else if (event.key === 'Escape' && this.at !== null) this.leave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  aim(turn, preview = false) {
    if (!this.shape.turn(turn)) return;
    if (this.at === turn && preview === this.previewing) return;
    this.at = turn;
    this.previewing = preview;
    this.renderCurrent();
    this.renderTip();
    clearTimeout(this.timer);
    if (preview) this.timer = setTimeout(() => this.preview(turn), WAIT);
  }

  leave() {
    clearTimeout(this.timer);
    this.at = null;
    this.press = null;
    this.tip.hidden = true;
    this.renderCurrent();
  }

  renderTip() {
    const turn = this.shape.turn(this.at);
    const plan = this.plans.get(this.at);
    const figures = figureWords(turn);
    fill(
      this.tip,
      h('p.tip-head', h('strong', `Turn ${number(turn.turn)}`), ' ', oneLine(turn.prompt, 110)),
      figures ? h('p.muted', figures) : null,
      this.previewing ? planWords(turn, plan) : null,
    );
    this.tip.hidden = false;
    const part = (this.at - 0.5) / this.total;
    this.tip.style.left = `${100 * part}%`;
    this.tip.style.transform = `translateX(-${100 * part}%)`;
  }

  /** Shows what a rewind to before this turn would do to the files. This changes nothing. */
  async preview(turn) {
    const {version, session} = this.shape;
    if (!this.plans.has(turn)) {
      const found = await this.planOf(session, turn).catch(error => ({error}));
      if (version !== this.shape.version) return;
      this.plans.set(turn, found);
    }
    if (this.at === turn && !this.tip.hidden) this.renderTip();
  }

  planOf(session, turn) {
    if (turn > 1) return api.plan(session, turn - 1, 'both');
    const {from} = this.shape.turn(1);
    return from
      ? api.checkpointPlan(from)
      : Promise.reject(new Error('No checkpoint was saved before the first turn.'));
  }
}

function bar(group, at, most) {
  const height = group.lines ? 5 + ((HEIGHT - 5) * Math.log1p(group.lines)) / Math.log1p(most) : 2;
  const kind = group.failed ? 'failed' : group.lines ? 'changed' : 'quiet';
  return svg('rect', {class: `turn-bar-${kind}`, x: at * 10 + 1, y: HEIGHT - height, width: 8, height});
}

function planWords(turn, plan) {
  const before = `Rewinding to before turn ${turn.turn}`;
  if (!plan) return h('p.tip-plan', `${before} …`);
  if (plan.error || !('written' in plan))
    return h('p.tip-plan', plan.error?.message || 'The plan could not be read.');
  const paths = [...plan.written, ...plan.deleted];
  if (!paths.length) return h('p.tip-plan', `${before} changes no file.`);
  const total = plan.writtenCount + plan.deletedCount;
  return h(
    'div.tip-plan',
    h('p', `${before} writes ${plural(plan.writtenCount, 'file')} and deletes ${number(plan.deletedCount)}:`),
    listOf('ul', paths.slice(0, NAMED), path => h('code', path)),
    total > NAMED ? h('p.muted', `and ${number(total - NAMED)} more`) : null,
  );
}
