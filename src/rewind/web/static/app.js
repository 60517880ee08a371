// Assembles the page: the bar, the tree, one view, and what the server pushes.

import {h, fill} from './core/element.js';
import {api, wire} from './core/api.js';
import {state} from './core/state.js';
import {afterPause} from './core/order.js';
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
import {closeModals} from './parts/modal.js';
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

const VIEWS = {
  home: HomeView,
  session: SessionView,
  checkpoints: CheckpointsView,
  review: ReviewView,
  changes: ReviewView,
  files: FilesView,
  find: FindView,
  graph: GraphView,
  compare: CompareView,
};
const PLACES = ['turn', 'name', 'words', 'point', 'path']; // places within a view, which goes there itself

function show(byHand, hash = location.hash) {
  if (!state.loaded && !state.error) return; // `start` will show the view of the current address
  const route = current(hash);
  const key = JSON.stringify(route, (name, value) => (PLACES.includes(name) ? undefined : value));
  if (key === shown) {
    view.goTo(route);
    return;
  }
  closeMenu(false);
  closeModals();
  view?.end();
  shown = key;
  fill(main);
  panes.dataset.pane = route.view === 'home' ? 'tree' : 'main';
  panes.dataset.view = route.view;
  top.setView(['checkpoints', 'files', 'graph'].includes(route.view) ? route.view : 'sessions');
  tree.select(route.session || (route.view === 'compare' ? route.a : null));
  view = new VIEWS[route.view](main, route);
  if (byHand) view.arrive();
  keysWhenReady(view);
}

/** Keys that were pressed too early reach the view when it has read what they need. */
async function keysWhenReady(made) {
  await made.ready;
  if (made === view) replay();
}

// what the server pushes

const readSessions = afterPause(() => state.loadSessions(), 150);
const readProject = afterPause(() => state.loadProject(), 150);
const reloadView = afterPause(() => view.reload?.(), 300);

const PUSHES = {
  session_updated: ({session}) => session && state.update(session),
  sessions_changed: readSessions,
  branches_deleted: readSessions,
  session_created: readSessions,
  project_changed: ({project}) => (project ? state.setProject(project) : readProject()),
  checkpoints_changed: ({newest, page}) => {
    const collected = newest === newestPoint;
    newestPoint = newest;
    if (view instanceof CheckpointsView || view instanceof FilesView) reloadView();
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
  // A very short interruption needs no banner.
  if (wire.tries > 1) showOffline();
});

/** Says whether the server is gone or has another key now, and which command helps. */
async function showOffline() {
  let refused = false;
  try {
    await api.project();
    if (wire.up) return;
  } catch (error) {
    refused = error.code === 'forbidden';
  }
  if (refused) wire.stop(); // this page's key will not become valid again
  const [what, why, then] = refused ? LOCKED_OUT : UNREACHED;
  fill(
    offline,
    h('span', h('strong', what), why, h('code', 'rewind ui'), then),
    refused ? null : h('button.quiet', {onclick: () => wire.connect()}, 'Try now'),
  );
  offline.hidden = false;
}

const LOCKED_OUT = [
  'The Rewind server was restarted with another key. ',
  'This page cannot read anything any more. Run ',
  ' in the project and open the address it prints.',
];
const UNREACHED = [
  'The Rewind server cannot be reached. ',
  'What you see may be old. Start it again with ',
  '. The page then reconnects by itself.',
];

/** Pushes begin with the connection, so what changed before is read again. */
async function catchUp(again) {
  const shownNow = view;
  const before = state.get(shownNow?.id);
  await Promise.all([state.loadProject(), state.loadSessions()]);
  const after = state.get(shownNow?.id);
  // A view that was opened meanwhile has read its turns already.
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
      h('button.quiet', {onclick: () => openUndo(() => state.loadProject())}, 'Undo it'),
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

document.addEventListener('rewind:refused', event => say(event.detail, {kind: 'info'}));
// Use the event's address, because a turn that scrolled into view may have replaced the current one since.
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
  event.preventDefault(); // the part of the address after # names the view
  main.focus();
});

/**
 * Resolves when there is a connection, or when there cannot be one. Pushes begin with it, so read after it.
 */
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
  const [newest] = [...state.sessions.values()]
    .filter(s => !s.archived)
    .sort((a, b) => String(b.modified).localeCompare(String(a.modified)));
  if (current().view === 'home' && wide && newest)
    history.replaceState(null, '', to.session(newest.sessionId));
  show(false);
  state.addEventListener('sessions', () => {
    if (current().view === 'home') view.render?.();
  });
  if (state.error?.code === 'forbidden') wire.stop();
}

start();
