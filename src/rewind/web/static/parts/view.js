// What every view has. A view that has something to do at one of these moments says so itself.

import {h, fill} from '../core/element.js';
import {to} from '../core/route.js';
import {icon} from './icons.js';
import {errorState} from './states.js';

/** `way`: the link to where one came from; `beside`: what is in the row of the title; `more`: below it. */
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

  /** What is still being read then is of no use any more. */
  get ended() {
    return this.life.signal.aborted;
  }

  /** As long as the view is shown. */
  listen(target, event, run) {
    target.addEventListener(event, run, {signal: this.life.signal});
  }

  /** Whether a key meant something here. */
  key() {
    return false;
  }

  /** The same view, at another place in it. */
  goTo() {}

  /** The person came here by a link or a key. */
  arrive() {
    this.host.querySelector('h1')?.focus({preventScroll: true});
  }

  /** What was to be read could not be: said below the head, with a button to try again. */
  fail(error, again, head = null) {
    if (!this.ended) fill(this.host, head, errorState(error, again));
  }

  end() {
    this.life.abort();
  }
}
