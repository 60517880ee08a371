// Puts the page together: the bar, the tree, one view, and what the server pushes.

import {h, fill} from './core/element.js';
import {api} from './core/api.js';
import {wire} from './core/wire.js';
import {state} from './core/state.js';
import {current, to} from './core/route.js';
import {Tree} from './sessions/tree.js';
import {TopBar} from './parts/topbar.js';
import {SessionView} from './turns/session.js';
import {CheckpointsView} from './code/checkpoints.js';
import {ReviewView} from './code/review.js';
import {FilesView} from './files/view.js';
import {FindView} from './sessions/find.js';
import {CompareView} from './sessions/compare.js';
import {GraphView} from './sessions/graph.js';
import {HomeView} from './sessions/home.js';
import {closeMenu} from './parts/menu.js';
import {listen, replay} from './core/keyboard.js';
import {notice} from './parts/states.js';
import {openRestore, openUndo} from './plans/restore.js';
import {say} from './parts/toast.js';

const main = document.getElementById('main');
const panes = document.getElementById('panes');
const offline = document.getElementById('offline');
const top = new TopBar(document.getElementById('top'));
const tree = new Tree(document.getElementById('side'));
let view = null;
let shown = '';

function show(byHand, hash = location.hash) {
  if (!state.loaded && !state.error) return undefined; // `start` shows what the address says by then
  const route = current(hash);
  const key = JSON.stringify({view: route.view, ...identity(route)});
  if (key === shown && view instanceof FilesView) return view.goTo(route.point, route.path);
  if (key === shown && view)
    return route.turn || route.words ? view.goTo(route.turn, route.words) : undefined;
  closeMenu(false);
  view?.end();
  shown = key;
  fill(main);
  panes.dataset.pane = route.view === 'home' ? 'tree' : 'main';
  panes.dataset.view = route.view;
  top.setView(['checkpoints', 'files', 'graph'].includes(route.view) ? route.view : 'sessions');
  tree.select(route.session || (route.view === 'compare' ? route.a : null));
  view = make(route);
  if (byHand) view.arrive();
  keysWhenReady(view);
  return undefined;
}

/** What makes it another view, and not another place in the same one. */
function identity(route) {
  if (route.view === 'files') return {};
  return {...route, turn: undefined, name: undefined, words: undefined};
}

/** Keys that were pressed too early reach the view once it has read what they are about. */
async function keysWhenReady(made) {
  await made.ready;
  if (made === view) replay();
}

function make(route) {
  if (route.view === 'files') return new FilesView(main, route.point, route.path);
  if (route.view === 'session') return new SessionView(main, route.session, route.turn, route.words);
  if (route.view === 'checkpoints') return new CheckpointsView(main, route.name);
  if (route.view === 'review' || route.view === 'changes') return new ReviewView(main, route);
  if (route.view === 'find') return new FindView(main, route.words);
  if (route.view === 'graph') return new GraphView(main);
  if (route.view === 'compare') return new CompareView(main, route.a, route.b);
  return new HomeView(main, panes);
}

// what the server says by itself

const later = new Map();
/** Many pushes in a row are one reading. */
function soon(key, run, wait = 150) {
  clearTimeout(later.get(key));
  later.set(key, setTimeout(run, wait));
}

const PUSHES = {
  session_updated: ({session}) => session && state.update(session),
  sessions_changed: () => soon('sessions', () => state.loadSessions()),
  branches_deleted: () => soon('sessions', () => state.loadSessions()),
  session_created: () => soon('sessions', () => state.loadSessions()),
  project_changed: ({project}) =>
    project ? state.setProject(project) : soon('project', () => state.loadProject()),
  checkpoints_changed: ({newest, page}) => {
    const collected = newest === newestPoint;
    newestPoint = newest;
    if (view instanceof CheckpointsView) soon('checkpoints', () => view.reload?.(), 300);
    if (view instanceof FilesView) soon('files', () => view.reload?.(), 300);
    if (view instanceof SessionView) view.codeChanged(collected, page?.sessionId === view.id ? page : null);
  },
  turns_added: ({sessionId, total, page}) => {
    if (view instanceof SessionView && view.id === sessionId) view.turnsAdded(page?.total ?? total, page);
  },
};
let newestPoint = null;

wire.addEventListener('push', event => PUSHES[event.detail.event]?.(event.detail));
wire.addEventListener('up', event => {
  top.setUp(true);
  offline.hidden = true;
  if (view instanceof SessionView) view.follow();
  if (started) catchUp(event.detail.again);
});
wire.addEventListener('down', () => {
  top.setUp(false);
  // A blink of the connection is not worth a banner.
  if (wire.tries > 1) showOffline();
});

/** Gone, or there again with another key: the truth, and the command that helps. */
async function showOffline() {
  let refused = false;
  try {
    await api.project();
    if (wire.up) return;
  } catch (error) {
    refused = error.code === 'forbidden';
  }
  if (refused) wire.stop(); // this page's key will not become valid again
  const truth = refused
    ? ['The Rewind server was restarted with another key. ', 'This page cannot read anything any more. Run ']
    : ['The Rewind server cannot be reached. ', 'What you see may be old. Start it again with '];
  fill(
    offline,
    h('span', h('strong', truth[0]), truth[1], h('code', 'rewind ui'), ENDS[Number(refused)]),
    refused ? null : h('button.quiet', {onclick: () => wire.connect()}, 'Try now'),
  );
  offline.hidden = false;
}

const ENDS = [': the page goes on by itself.', ' in the project and open the address it prints.'];

/** Pushes begin with the connection: what changed before it is read again. */
async function catchUp(again) {
  const shownNow = view;
  const before = state.get(shownNow?.id);
  await Promise.all([state.loadProject(), state.loadSessions()]);
  const after = state.get(shownNow?.id);
  // A view that was opened since has read its turns since.
  if (after && shownNow === view && (again || after.bytes !== before?.bytes)) view.turnsAdded(after.turns);
  if (!again) return;
  if (view instanceof CheckpointsView) view.reload();
  say('Connected again.', {kind: 'info'});
}

state.addEventListener('project', () => {
  document.querySelector('.interrupted')?.remove();
  const broken = state.project?.interrupted;
  if (!broken) return;
  const node = notice(
    'warning',
    [h('strong', 'A restore was interrupted. '), broken.message],
    h(
      'div.notice-actions',
      h('button.quiet', {onclick: () => undoInterrupted()}, 'Undo it'),
      h(
        'button.quiet',
        {onclick: () => openRestore({name: broken.checkpoint}, broken.paths, () => state.loadProject())},
        'Finish it…',
      ),
    ),
  );
  node.classList.add('interrupted');
  panes.before(node);
});

function undoInterrupted() {
  return openUndo(() => state.loadProject());
}

document.addEventListener('rewind:refused', event => say(event.detail, {kind: 'info'}));
// The event's own address: the place may have been replaced since by the turn that scrolled into view.
window.addEventListener('hashchange', event =>
  show(true, event.newURL ? new URL(event.newURL).hash : location.hash),
);
listen(() => view, {
  focusTree: () => {
    panes.dataset.pane = 'tree';
    (
      tree.list.querySelector('[aria-current]') ||
      tree.list.querySelector('.row-link') ||
      tree.filter
    ).focus();
  },
});

document.querySelector('.skip').addEventListener('click', event => {
  event.preventDefault(); // the part of an address behind # is where one is
  main.focus();
});

/** Pushes begin with the connection, so everything is read once it stands, or cannot be made. */
function connected() {
  return new Promise(resolve => {
    wire.addEventListener('up', resolve, {once: true});
    wire.addEventListener('down', resolve, {once: true});
    setTimeout(resolve, 2000);
    wire.connect();
  });
}

let started = false;

async function start() {
  const wide = matchMedia('(min-width: 760px)').matches;
  await connected();
  started = true;
  await Promise.all([state.loadProject(), state.loadSessions()]);
  const newest =
    state.roots().length &&
    [...state.sessions.values()]
      .filter(s => !s.archived)
      .sort((a, b) => String(b.modified).localeCompare(String(a.modified)))[0];
  if (current().view === 'home' && wide && newest)
    history.replaceState(null, '', to.session(newest.sessionId));
  show(false);
  state.addEventListener('sessions', () => {
    if (current().view === 'home') view.render?.();
  });
  if (state.error?.code === 'forbidden') wire.stop();
}

start();
