// Sessions and forks as lanes: where they part, where an agent itself rewound, and which turn the files are
// at.

import {h, fill, inPlace, svg} from '../core/element.js';
import {api} from '../core/api.js';
import {state} from '../core/state.js';
import {go, to} from '../core/route.js';
import {afterPause, oneAtATime} from '../core/order.js';
import {age, oneLine, plural, sessionTitle} from '../core/format.js';
import {emptyState, loadingState} from '../parts/states.js';
import {mark} from './tree.js';
import {Futures, asSession} from './futures.js';
import {lanesOf, scaleOf, turnAt} from './lanes.js';
import {View, toSessions, viewHead} from '../parts/view.js';

const MOST_DOTS = 90; // a lane with more turns has no dots

export class GraphView extends View {
  constructor(host) {
    super(host);
    this.graph = {here: null, rewinds: []};
    this.lanes = [];
    this.futures = new Futures(() => this.reload());
    document.title = 'Graph – Rewind';
    this.body = h('div.graph');
    this.top = this.head();
    this.sizes = new ResizeObserver(() => this.draw());
    this.reload = oneAtATime(() => this.load());
    const soon = afterPause(() => this.ended || this.reload(), 400);
    this.listen(state, 'sessions', soon);
    this.listen(state, 'project', soon);
    fill(this.host, this.top, loadingState('Reading the sessions'));
    this.ready = this.reload();
  }

  async load() {
    try {
      const [graph, {lanes, removed}] = await Promise.all([api.graph(), api.lanes()]);
      if (this.ended) return;
      this.graph = graph;
      this.lanes = lanes;
      this.futures.show({lanes, removed});
      this.show();
    } catch (error) {
      this.fail(error, () => this.reload(), this.top);
    }
  }

  head() {
    const legend = h(
      'ul.legend',
      {'aria-hidden': 'true'},
      h('li', h('i.key.fork'), 'fork'),
      h('li', h('i.key.left'), 'taken back in the agent'),
      h('li', h('i.key.here'), 'you are here'),
    );
    return viewHead('Graph', {way: toSessions(), beside: [h('span.grow'), legend]});
  }

  show() {
    const roots = state.roots();
    if (!roots.length) {
      const none = emptyState('No sessions yet', 'Their graph appears with the first one.');
      fill(this.host, this.top, this.lanes.length ? null : none, this.futures.node);
      return;
    }
    this.groups = roots.map(root => this.group(root));
    const nodes = this.groups.map(group => group.node);
    inPlace(this.body, () => {
      fill(this.body, nodes, this.futures.node);
      if (this.body.parentNode === this.host) return;
      // Keep the top, because its title may have the focus.
      for (const node of [...this.host.children]) if (node !== this.top) node.remove();
      this.host.append(this.body);
    });
    this.sizes.disconnect();
    this.sizes.observe(this.body);
    this.draw();
  }

  group(root) {
    const lanes = lanesOf(root, session => this.childrenOf(session));
    const ids = new Set(lanes.map(lane => lane.session.sessionId));
    const rewinds = this.graph.rewinds.filter(one => ids.has(one.sessionId));
    const drawing = svg('svg', {class: 'lanes', 'aria-hidden': 'true', focusable: 'false'});
    const rows = lanes.map(lane => this.row(lane));
    const nodes = rows.map(row => row.node);
    const node = h('section.graph-root', {'aria-label': sessionTitle(root)}, drawing, h('ul', nodes));
    return {node, drawing, lanes, rewinds, rows};
  }

  /** Forks, including those with their own directories. */
  childrenOf({sessionId, future}) {
    if (future) return [];
    const futures = this.lanes.filter(lane => lane.parentSessionId === sessionId && !lane.problem);
    return [...state.childrenOf(sessionId), ...futures.map(asSession)];
  }

  /** A lane for a fork whose turns are in another directory. It leads to the actions on this fork. */
  futureRow(lane) {
    const {future} = lane.session;
    const open = () => {
      const row = document.getElementById(`future-${future.name}`);
      row?.scrollIntoView({block: 'center'});
      row?.querySelector('button, input:not([disabled])')?.focus({preventScroll: true});
    };
    const name = h(
      'button.lane-name',
      {'data-key': `lane ${future.name}`, onclick: open},
      h('span.clip', {title: future.dir}, future.name),
      h('span.mark', 'own directory'),
    );
    const facts = [h('span', `from turn ${lane.start}`), h('span', plural(future.turns || 0, 'turn'))];
    return laneRow(lane, 'future-lane', name, facts, h('div.lane-track.elsewhere'));
  }

  row(lane) {
    const {session} = lane;
    if (session.future) return this.futureRow(lane);
    const title = sessionTitle(session);
    const name = h(
      'a.lane-name',
      {href: to.session(session.sessionId), 'data-key': session.sessionId},
      h('span.clip', {title}, title),
      mark(session),
      this.hereMark(session),
    );
    const track = h('div.lane-track', {
      title: 'Click on a turn to open it',
      onclick: event => this.openTurn(lane, track, event.clientX),
    });
    return laneRow(lane, session.archived ? 'archived' : '', name, this.facts(lane), track);
  }

  hereMark(session) {
    const {here} = this.graph;
    if (here?.sessionId !== session.sessionId) return null;
    const words = here.turn ? `after turn ${here.turn}` : 'before the first turn';
    return h('span.mark.here', {title: `The files stand ${words}`}, 'you are here');
  }

  facts({session, depth}) {
    const parent = state.parentOf(session);
    const from = session.rewindFromTurn;
    const back = this.graph.rewinds.filter(one => one.sessionId === session.sessionId);
    return [
      depth && from && parent
        ? h('a.lane-from', {href: to.session(parent.sessionId, from)}, `from turn ${from}`)
        : null,
      h('span', plural(session.turns, 'turn')),
      back.length ? h('span', {title: backWords(back)}, plural(back.length, 'native rewind')) : null,
      h('time', {datetime: session.modified}, age(session.modified)),
    ];
  }

  // drawing

  draw() {
    for (const group of this.groups || []) drawGroup(group, this.graph.here);
  }

  openTurn(lane, track, x) {
    const group = this.groups.find(one => one.lanes.includes(lane));
    const box = track.getBoundingClientRect();
    const scale = scaleOf(group.lanes, group.rewinds, box.width);
    go(to.session(lane.session.sessionId, turnAt(lane, x - box.left, scale)));
  }

  // moving

  key(name) {
    if (name !== 'j' && name !== 'k') return false;
    const links = [...this.body.querySelectorAll('.lane-name')];
    const at = links.indexOf(document.activeElement);
    links[Math.max(0, Math.min(links.length - 1, at + (name === 'j' ? 1 : -1)))]?.focus();
    return true;
  }

  end() {
    super.end();
    this.sizes.disconnect();
  }
}

function laneRow(lane, kind, name, facts, track) {
  const text = h('div.lane-text', name, h('span.row-meta', facts));
  const node = h(`li.lane${kind && `.${kind}`}`, text, track);
  node.style.setProperty('--depth', Math.min(lane.depth, 5));
  return {node, track};
}

function backWords(back) {
  return back.map(one => `To after turn ${one.turn}; “${oneLine(one.prompt, 60)}” was taken back`).join('\n');
}

/** The positions of lanes are read from the rows, because the style decides them. */
function drawGroup({node, drawing, lanes, rewinds, rows}, here) {
  const outer = node.getBoundingClientRect();
  const tracks = rows.map(row => row.track.getBoundingClientRect());
  if (!outer.width || !tracks[0].width) return;
  const scale = scaleOf(lanes, rewinds, tracks[0].width);
  const left = tracks[0].left - outer.left;
  const x = turn => left + scale(turn);
  const y = at => tracks[at].top - outer.top + tracks[at].height / 2;
  const at = new Map(lanes.map((lane, number) => [lane.session.sessionId, number]));
  drawing.setAttribute('width', outer.width);
  drawing.setAttribute('height', outer.height);
  drawing.replaceChildren(
    ...lanes.flatMap((lane, number) => laneParts(lane, number, at, x, y)),
    ...rewinds.flatMap(one => leftParts(one, x, y(at.get(one.sessionId)))),
    ...(here && at.has(here.sessionId) ? herePart(x(here.turn), y(at.get(here.sessionId))) : []),
  );
}

function laneParts(lane, number, at, x, y) {
  const kind = `lane-${number % 4}`;
  const from = lane.depth ? at.get(lane.session.parentSessionId) : undefined;
  const x1 = x(lane.start);
  const bend = from === undefined ? 0 : 10;
  const start =
    from === undefined ? `M${x1} ${y(number)}` : `M${x1} ${y(from)}V${y(number) - 10}q0 10 ${bend} 10`;
  const end = Math.max(x(lane.end), x1 + bend);
  const parts = [svg('path', {class: `lane-line ${kind}`, d: `${start}H${end}`})];
  if (from !== undefined) parts.push(svg('circle', {class: 'fork-dot', cx: x1, cy: y(from), r: 5}));
  if (lane.end <= lane.start)
    parts.push(svg('circle', {class: `turn-dot ${kind}`, cx: x1 + bend, cy: y(number), r: 3}));
  if (lane.end - lane.start <= MOST_DOTS)
    for (let turn = lane.start + 1; turn <= lane.end; turn += 1)
      parts.push(svg('circle', {class: `turn-dot ${kind}`, cx: x(turn), cy: y(number), r: 3}));
  return parts;
}

/** Turns that the agent itself took back, as a short line with an end. */
function leftParts(one, x, y) {
  const [x1, x2, below] = [x(one.turn), x(one.turn + one.left), y + 13];
  return [
    svg('path', {class: 'left-line', d: `M${x1} ${y}q0 13 ${Math.min(8, x2 - x1)} 13H${x2}`}),
    svg('path', {class: 'left-end', d: `M${x2 - 3} ${below - 3}l6 6m0-6l-6 6`}),
  ];
}

function herePart(x, y) {
  return [
    svg('circle', {class: 'here-ring', cx: x, cy: y, r: 8}),
    svg('circle', {class: 'here-dot', cx: x, cy: y, r: 3.5}),
  ];
}
