// The base of every view. A view overrides the methods in which it has something to do.

import {h, fill} from '../core/element.js';
import {to} from '../core/route.js';
import {icon} from './icons.js';
import {errorState} from './states.js';

/** `way`: the link back; `beside`: elements in the row of the title; `more`: elements below it. */
export function viewHead(title, {way = null, beside = [], more = null} = {}) {
  return h(
    'header.session-head',
    way && h('nav.crumbs', {'aria-label': 'Breadcrumb'}, way),
    h('div.title-row', h('h1', {tabindex: '-1'}, title), beside),
    more,
  );
}

export function toSessions() {
  return h('a.to-tree', {href: to.home()}, icon('back'), 'Sessions');
}

export class View {
  life = new AbortController();

  constructor(host) {
    this.host = host;
  }

  /** Whether another view is shown. Answers that come later are ignored. */
  get ended() {
    return this.life.signal.aborted;
  }

  /** Listens as long as the view is shown. */
  listen(target, event, run) {
    target.addEventListener(event, run, {signal: this.life.signal});
  }

  /** Handles a key. Returns whether it was used. */
  key() {
    return false;
  }

  /** Goes to another place in the same view. */
  goTo() {}

  /** Called if a link or a key led here. */
  arrive() {
    this.host.querySelector('h1')?.focus({preventScroll: true});
  }

  /** Shows an error below the head, with a button to try again. */
  fail(error, again, head = null) {
    if (!this.ended) fill(this.host, head, errorState(error, again));
  }

  end() {
    this.life.abort();
  }
}
