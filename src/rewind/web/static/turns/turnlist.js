// Shows a long conversation with a small DOM: a window of turns between two spacers, which scrolling moves.

import {h} from '../core/element.js';
import {api} from '../core/api.js';
import {renewNode} from '../core/renew.js';

const PAGE = 25;
const MOST = 100; // rows at once, without future turns
const NEAR = 900; // pixels from the edge of the window at which the next page is fetched
const TALLEST = 2e7; // pixels; browsers draw nothing taller

/** Events: `current` (the turn), `window` (rows were added or removed), `failed` (detail: error). */
export class TurnList extends EventTarget {
  constructor(render) {
    super();
    this.render = render;
    this.above = h('div.spacer');
    this.below = h('div.spacer');
    this.rows = h('div.rows');
    this.after = h('div.after');
    this.node = h(
      'div.turns',
      {
        role: 'region',
        'aria-label': 'Turns',
        tabindex: '-1',
        onscroll: () => this.scrolled(),
        onclick: event => this.clicked(event),
        onfocusin: event => this.clicked(event),
      },
      this.above,
      this.rows,
      this.below,
      this.after,
    );
    this.turns = new Map();
    this.heights = new Map();
    this.total = 0;
    this.first = 1;
    this.last = 0;
    this.current = null;
    this.goal = null; // the turn to go to when it is read
    this.readings = 0; // in progress now
    this.asked = 0; // the number of the last reading; its answer may come before that of an earlier one
    this.drawn = new Map(); // turn -> the number of the reading that its row shows
    this.whole = new Map(); // turn -> its complete text, if a person asked for it
    this.counted = 0; // the number of the reading with the current total
    this.placed = 0; // the number of the reading that began this window
    this.loading = null;
    this.ended = false;
    // Pictures and unfolded parts make rows taller. A person who reads the end should stay at the end.
    this.stuck = false;
    this.top = 0;
    this.sizes = new ResizeObserver(() => {
      if (this.stuck) this.toEnd();
    });
    this.sizes.observe(this.rows);
    this.sizes.observe(this.node);
  }

  wait(node) {
    this.after.replaceChildren(node);
    this.waiting = node;
  }

  async open(sessionId, turn = null) {
    this.session = sessionId;
    await this.show(turn);
  }

  async read(from, count) {
    this.asked += 1;
    const asked = this.asked;
    const page = await this.busyWith(api.turns(this.session, from, count));
    return {...page, asked, turns: page.turns.map(turn => withoutBusy(turn, page.busy))};
  }

  async busyWith(reading) {
    this.readings += 1;
    this.node.setAttribute('aria-busy', 'true');
    try {
      return await reading;
    } finally {
      this.readings -= 1;
      if (!this.readings) this.node.setAttribute('aria-busy', 'false');
    }
  }

  /**
   * The total only changes with a new window, or when `grow` adds new turns. Otherwise a window at the end of
   * the conversation would be taken for one in its middle.
   */
  count(total, asked) {
    if (asked < this.counted) return;
    this.counted = asked;
    this.total = total;
  }

  /** Shows a window around a turn, or at the end. */
  async show(turn, {focus = false} = {}) {
    const from = turn ? Math.max(1, turn - 8) : -PAGE;
    const page = await this.read(from, PAGE);
    if (this.ended || page.asked < this.placed) return;
    this.waiting?.remove();
    this.replaceWindow(page);
    this.setCurrent(Math.min(turn || this.total, this.total));
    if (turn) this.reveal(turn, focus);
    else this.toEnd();
    await this.fillUp();
    if (turn) this.reveal(turn, focus);
  }

  replaceWindow(page) {
    for (const node of [...this.rows.children]) this.drop(node);
    this.placed = page.asked;
    this.count(page.total, page.asked);
    this.first = page.from;
    this.last = page.from + page.turns.length - 1;
    for (const turn of page.turns) this.rows.append(this.make(turn, page.asked));
    this.space();
    this.changed();
  }

  make(turn, asked) {
    this.turns.set(turn.turn, turn);
    this.drawn.set(turn.turn, asked);
    const node = this.render(turn);
    if (turn.turn === this.current) mark(node, true);
    return node;
  }

  drop(node) {
    const turn = Number(node.dataset.turn);
    this.heights.set(turn, node.offsetHeight);
    this.turns.delete(turn);
    this.drawn.delete(turn);
    this.whole.delete(turn);
    node.remove();
  }

  row(turn) {
    return turn >= this.first && turn <= this.last ? this.rows.children[turn - this.first] : null;
  }

  // moving the window

  scrolled() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      // Only scrolling up leaves the end. If a row grew, the end has moved without the person.
      if (this.node.scrollTop < this.top - 2) this.stuck = false;
      this.top = this.node.scrollTop;
      this.follow();
      this.stick();
      this.fillUp();
    });
  }

  /** The head of the current turn stays at the top and then shows the prompt. */
  stick() {
    const top = this.node.getBoundingClientRect().top;
    const row = [...this.rows.children].find(n => n.getBoundingClientRect().bottom > top + 44);
    const stuck = row && row.getBoundingClientRect().top < top - 14 ? row : null;
    if (stuck !== this.held) this.held?.classList.remove('stuck');
    stuck?.classList.add('stuck');
    this.held = stuck;
  }

  /** Fetches the turns that will soon be in view. A jump into a spacer starts a new window there. */
  async fillUp() {
    if (this.loading || this.ended || !this.total) return;
    const wanted = this.wanted();
    if (!wanted) return;
    this.loading = wanted;
    try {
      await this.fetchPage(wanted);
    } catch (error) {
      this.dispatchEvent(new CustomEvent('failed', {detail: error}));
      return;
    } finally {
      this.loading = null;
    }
    if (!this.ended) await this.fillUp();
  }

  wanted() {
    const view = this.node.getBoundingClientRect();
    const rows = this.rows.getBoundingClientRect();
    if (this.first > 1 && rows.top > view.bottom + 200) return {jump: this.guess()};
    if (this.last < this.total && rows.bottom < view.top - 200) return {jump: this.guess()};
    if (this.first > 1 && rows.top > view.top - NEAR)
      return {from: Math.max(1, this.first - PAGE), count: Math.min(PAGE, this.first - 1), end: 'top'};
    if (this.last < this.total && rows.bottom < view.bottom + NEAR)
      return {from: this.last + 1, count: PAGE, end: 'bottom'};
    return null;
  }

  guess() {
    const usual = this.usualHeight();
    let at = 0;
    for (let turn = 1; turn <= this.total; turn += 1) {
      at += this.heights.get(turn) ?? usual;
      if (at > this.node.scrollTop) return turn;
    }
    return this.total;
  }

  async fetchPage(wanted) {
    if (wanted.jump) {
      const page = await this.read(Math.max(1, wanted.jump - 8), PAGE);
      if (this.ended || page.asked < this.placed) return;
      const top = this.node.scrollTop;
      this.replaceWindow(page);
      this.node.scrollTop = Math.max(top, this.above.offsetHeight);
      this.follow();
      return;
    }
    const page = await this.read(wanted.from, wanted.count);
    if (this.ended) return;
    this.keepPosition(() => (wanted.end === 'top' ? this.prepend(page) : this.append(page)));
    this.changed();
  }

  // The window may have moved while a page was read, so only turns next to it are added.

  prepend(page) {
    const fresh = page.turns.filter(t => t.turn < this.first);
    if (fresh.at(-1)?.turn !== this.first - 1) return;
    this.rows.prepend(...fresh.map(t => this.make(t, page.asked)));
    this.first -= fresh.length;
    while (this.last - this.first >= MOST) {
      this.drop(this.rows.lastChild);
      this.last -= 1;
    }
    this.space();
  }

  append(page) {
    const fresh = page.turns.filter(t => t.turn > this.last);
    if (fresh[0]?.turn !== this.last + 1) return;
    this.rows.append(...fresh.map(t => this.make(t, page.asked)));
    this.last += fresh.length;
    while (this.last - this.first >= MOST) {
      this.drop(this.rows.firstChild);
      this.first += 1;
    }
    this.space();
  }

  /** Changes rows, but keeps the row in view at its position. */
  keepPosition(change) {
    const view = this.node.getBoundingClientRect();
    const anchor = [...this.rows.children].find(n => n.getBoundingClientRect().bottom > view.top + 1);
    const turn = anchor && Number(anchor.dataset.turn);
    const before = anchor?.getBoundingClientRect().top;
    change();
    const now = turn && this.row(turn);
    if (now) this.node.scrollTop += now.getBoundingClientRect().top - before;
    this.stick();
  }

  space() {
    const usual = this.usualHeight();
    this.above.style.height = `${Math.min(TALLEST, this.sum(1, this.first - 1, usual))}px`;
    this.below.style.height = `${Math.min(TALLEST, this.sum(this.last + 1, this.total, usual))}px`;
  }

  usualHeight() {
    const n = this.rows.children.length;
    return n ? Math.max(60, this.rows.offsetHeight / n) : 200;
  }

  sum(from, end, usual) {
    let height = 0;
    for (let turn = from; turn <= end; turn += 1) height += this.heights.get(turn) ?? usual;
    return height;
  }

  changed() {
    this.dispatchEvent(new Event('window'));
  }

  // the current turn

  clicked(event) {
    const row = event.target.closest?.('.rows > .turn');
    if (row) this.setCurrent(Number(row.dataset.turn));
  }

  setCurrent(turn) {
    if (turn === this.current) return;
    const was = this.current && this.row(this.current);
    if (was) mark(was, false);
    this.current = turn;
    const now = this.row(turn);
    if (now) mark(now, true);
    this.dispatchEvent(new Event('current'));
  }

  /** If the current turn was scrolled away, the turn in view becomes the current one. */
  follow() {
    const view = this.node.getBoundingClientRect();
    const seen = node => {
      const r = node.getBoundingClientRect();
      return r.bottom > view.top + 40 && r.top < view.bottom - 40;
    };
    const current = this.row(this.current);
    if (current && seen(current)) return;
    const first = [...this.rows.children].find(seen);
    if (first) this.setCurrent(Number(first.dataset.turn));
  }

  /** Keys may be pressed faster than pages are read. Only the last one counts. */
  async moveTo(turn, {focus = true} = {}) {
    const wanted = Math.max(1, this.total ? Math.min(this.total, turn) : turn);
    const underWay = this.goal !== null;
    this.goal = wanted;
    if (this.row(wanted)) {
      this.goal = underWay ? wanted : null;
      this.setCurrent(wanted);
      this.reveal(wanted, focus);
      return this.fillUp();
    }
    return underWay ? undefined : this.fetchGoal(focus);
  }

  async fetchGoal(focus) {
    try {
      for (let done = null; done !== this.goal && !this.ended;) {
        done = this.goal;
        await this.show(done, {focus});
      }
    } finally {
      this.goal = null;
    }
  }

  reveal(turn, focus) {
    const row = this.row(turn);
    if (!row) return;
    this.stuck = false;
    this.node.scrollTop += row.getBoundingClientRect().top - this.node.getBoundingClientRect().top - 8;
    if (focus) row.focus({preventScroll: true});
  }

  /** Scrolls so that a range of text is in view, also in an inner part that scrolls. */
  center(range) {
    this.stuck = false;
    const inner = range.startContainer.parentElement.closest('pre, .thought, .patch');
    if (inner && inner.scrollHeight > inner.clientHeight)
      inner.scrollTop += range.getBoundingClientRect().top - inner.getBoundingClientRect().top - 60;
    const view = this.node.getBoundingClientRect();
    const box = range.getBoundingClientRect();
    if (box.top < view.top + 60 || box.bottom > view.bottom - 20)
      this.node.scrollTop += box.top - view.top - view.height / 3;
  }

  toEnd() {
    this.stuck = true;
    this.node.scrollTop = this.node.scrollHeight;
    this.top = this.node.scrollTop;
  }

  get atEnd() {
    return this.node.scrollHeight - this.node.scrollTop - this.node.clientHeight < 120;
  }

  // live changes

  /** The conversation grew. Resolves with true if the new turns are in the window or next to it. */
  async grow(total, pushed = null) {
    const complete = this.last >= this.total;
    const had = this.total;
    this.asked += 1;
    this.count(total, this.asked);
    if (total < this.last) {
      await this.show(null);
      return true;
    }
    if (!complete) {
      this.space();
      this.changed();
      return total === had;
    }
    // Read the last two turns, because the changes of one are known when the next begins.
    const from = Math.max(this.first, this.last - 1);
    const needed = total > had ? this.last : from; // earlier turns have not changed
    const page =
      this.pageOf(pushed, needed, total) || (await this.read(from, Math.min(100, total - from + 1)));
    if (this.ended) return true;
    const stay = this.atEnd;
    const following = stay && this.current === had;
    this.keepPosition(() => {
      page.turns.forEach(turn => this.patch(turn, page.asked));
      this.append(page);
      this.space();
    });
    this.changed();
    if (stay) this.toEnd();
    if (following) this.setCurrent(this.total);
    return stay || total === had;
  }

  /** The pushed turns as a page, if they are all that is needed. */
  pageOf(pushed, from, total) {
    if (!pushed || pushed.from > from || pushed.total !== total) return null;
    this.asked += 1;
    const turns = pushed.turns.filter(turn => turn.turn >= from).map(turn => withoutBusy(turn, pushed.busy));
    return {...pushed, turns, asked: this.asked};
  }

  /** Reads the window again, because data of its turns has changed. */
  async refresh() {
    for (let from = this.first; from <= this.last; from += 50) {
      const page = await this.read(from, Math.min(50, this.last - from + 1));
      if (this.ended) return;
      this.keepPosition(() => page.turns.forEach(turn => this.patch(turn, page.asked)));
    }
    this.changed();
  }

  /** Reads one complete turn for a row that only shows a part. */
  async readWhole(turn) {
    this.asked += 1;
    const asked = this.asked;
    const answer = await this.busyWith(api.turn(this.session, turn));
    const cut = this.turns.get(turn);
    if (this.ended || !cut) return;
    const {prompt, blocks} = answer.turn;
    this.whole.set(turn, {cut: textOf(cut), prompt, blocks});
    this.keepPosition(() => this.patch(withoutBusy(answer.turn, answer.busy), asked));
  }

  /** A turn that was read completely is shown completely as long as it does not change. */
  completed(turn) {
    const whole = this.whole.get(turn.turn);
    if (!whole) return turn;
    if (turn.truncated && whole.cut !== textOf(turn) && textOf(whole) !== textOf(turn)) {
      this.whole.delete(turn.turn);
      return turn;
    }
    return {...turn, prompt: whole.prompt, blocks: whole.blocks, truncated: false};
  }

  patch(found, asked) {
    const row = this.row(found.turn);
    if (!row || asked < this.drawn.get(found.turn)) return;
    const turn = this.completed(found);
    this.drawn.set(turn.turn, asked);
    if (JSON.stringify(this.turns.get(turn.turn)) === JSON.stringify(turn)) return;
    const focused = row.contains(document.activeElement) ? document.activeElement : null;
    const name = focused && nameOf(focused);
    renewNode(row, this.make(turn, asked));
    if (focused && !row.contains(document.activeElement))
      (within(row, name) || row).focus({preventScroll: true});
  }

  end() {
    this.ended = true;
    this.sizes.disconnect();
  }
}

/**
 * Ignores that a turn cannot be rewound to because an agent is at work. The session says that, and its pushes
 * come in order. In a turn that was read, it would become outdated.
 */
function withoutBusy(turn, busy) {
  return busy ? {...turn, canRewind: true, reason: null} : turn;
}

function textOf({prompt, blocks}) {
  return JSON.stringify([prompt, blocks]);
}

/** A name by which a part of a row is found again in the row that replaces it. */
function nameOf(node) {
  return node.getAttribute('aria-label') || node.textContent;
}

function within(row, name) {
  return [...row.querySelectorAll('a, button, summary, [tabindex]')].find(node => nameOf(node) === name);
}

function mark(node, on) {
  node.classList.toggle('current', on);
  node.setAttribute('tabindex', on ? '0' : '-1');
  if (on) node.setAttribute('aria-current', 'true');
  else node.removeAttribute('aria-current');
}
