// The shape of a session: a few numbers for every turn. It is read after the turns, and kept up to date.

import {api} from '../core/api.js';
import {oneAtATime} from '../core/order.js';
import {state} from '../core/state.js';

const PAUSE = 1500; // milliseconds between two readings while a turn runs
const AGAIN = 40; // how often to read again while the server still counts

/** Events: `shape`. */
export class Shape extends EventTarget {
  constructor(session) {
    super();
    this.session = session;
    this.turns = [];
    this.here = null;
    this.version = 0;
    this.read = oneAtATime(() => this.readFrom(this.from));
    this.from = 1;
    this.again = 0;
  }

  load() {
    this.from = 1;
    return this.read();
  }

  async readFrom(from) {
    if (!state.get(this.session)) return;
    if (state.beingDeleted.has(this.session)) {
      this.changed(); // in case the deletion fails
      return;
    }
    try {
      const found = await api.shape(this.session, from);
      if (this.ended) return;
      this.turns = [...this.turns.slice(0, from - 1), ...found.turns];
      this.here = found.here;
      this.version += 1;
      this.dispatchEvent(new Event('shape'));
      this.from = Math.max(1, this.turns.length - 1);
      if (!found.complete && this.again < AGAIN) {
        this.again += 1;
        this.from = 1;
        this.changed();
      }
    } catch (_) {
      // The turns show the error. Without a shape there is no scrubber.
    }
  }

  /** Something was added. Many changes in a row cause one reading. */
  changed() {
    if (this.timer || this.ended) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      if (!this.ended) this.read();
    }, PAUSE);
  }

  turn(number) {
    return this.turns[number - 1];
  }

  end() {
    this.ended = true;
    clearTimeout(this.timer);
  }
}
