// The sidebar: sessions and their branches, a filter, archived and deleted ones, and selecting several.

import {h, fill, inPlace, setMember} from '../core/element.js';
import {renew} from '../core/renew.js';
import {icon} from '../parts/icons.js';
import {age, clock, oneLine, plural, sessionTitle} from '../core/format.js';
import {state} from '../core/state.js';
import {go, to} from '../core/route.js';
import {emptyState, errorState, loadingState, notice} from '../parts/states.js';
import {deleteBranches, undelete} from './branches.js';

const NOT_OURS = 'Only branches that Rewind made can be deleted; this one belongs to the agent.';

export class Tree {
  constructor(host) {
    this.host = host;
    this.open = new Set();
    this.folded = new Set();
    this.chosen = new Set();
    this.choosing = false;
    this.selected = null;
    this.words = '';
    this.host.append(...this.frame());
    state.addEventListener('sessions', () => this.render());
    state.addEventListener('project', () => this.render());
    this.list.addEventListener('keydown', event => this.onKey(event));
    this.filter.addEventListener('keydown', event => {
      if (event.key === 'Enter' && this.words.length > 1) go(to.find(this.filter.value.trim()));
    });
    this.render();
    setInterval(() => this.renderAges(), 30000);
  }

  frame() {
    this.filter = h('input', {
      type: 'search',
      placeholder: 'Filter sessions',
      'aria-label': 'Filter sessions',
      autocomplete: 'off',
      oninput: () => {
        this.words = this.filter.value.trim().toLowerCase();
        this.render();
      },
    });
    this.chooser = h(
      'button.quiet',
      {'aria-pressed': 'false', onclick: () => this.choose(!this.choosing)},
      'Select',
    );
    this.list = h('div.tree-list');
    this.bar = h('div.choice-bar', {hidden: true});
    this.warnings = h('div.side-warnings');
    return [
      h('h1.side-title', 'Sessions'),
      h('div.side-head', h('div.search-box', icon('search'), this.filter), this.chooser),
      this.warnings,
      this.list,
      this.bar,
    ];
  }

  select(sessionId) {
    this.selected = sessionId;
    const session = state.get(sessionId);
    if (session) for (const parent of state.ancestors(session)) this.folded.delete(parent.sessionId);
    if (session?.archived) this.open.add('archived');
    this.render();
    this.list.querySelector('[aria-current]')?.scrollIntoView({block: 'nearest'});
  }

  choose(on) {
    this.choosing = on;
    this.chosen.clear();
    this.chooser.setAttribute('aria-pressed', String(on));
    this.chooser.textContent = on ? 'Done' : 'Select';
    this.render();
  }

  render() {
    inPlace(this.list, () => renew(this.list, ...this.content()));
    renew(
      this.warnings,
      ...missedNotices(),
      ...state.warnings.map(w => notice('warning', [h('strong', w.message), ' ', w.hint || ''])),
    );
    this.renderBar();
  }

  renderAges() {
    for (const node of this.list.querySelectorAll('time')) node.textContent = age(node.dateTime);
  }

  content() {
    if (!state.loaded && state.error) return [errorState(state.error, () => state.loadSessions())];
    if (!state.loaded) return [loadingState('Reading the sessions', 5)];
    const live = unfolded(state.roots()).filter(s => this.shown(s));
    const old = [...state.sessions.values()].filter(s => s.archived && this.matches(s));
    if (!state.sessions.size && !state.trash.length) return [h('p.side-note', 'No sessions yet.')];
    if (!live.length && !old.length && this.words) {
      const clear = h('button.quiet', {onclick: () => this.clearFilter()}, 'Clear the filter');
      return [this.everywhere(), emptyState('No match', `No session contains “${this.words}”.`, clear)];
    }
    return [
      this.everywhere(),
      this.branchList(live, 0, 'Sessions of this project'),
      this.archive(old),
      this.trash(),
    ];
  }

  /** The filter only searches titles. This link leads to the view that searches the conversations. */
  everywhere() {
    if (this.words.length < 2) return null;
    return h(
      'a.everywhere',
      {href: to.find(this.filter.value.trim()), 'data-part': 'everywhere'},
      icon('search'),
      h('span.clip', `Search all sessions for “${oneLine(this.filter.value, 40)}”`),
      h('kbd', 'Enter'),
    );
  }

  clearFilter() {
    this.words = this.filter.value = '';
    this.render();
    this.filter.focus();
  }

  matches(session) {
    return (
      !this.words ||
      `${sessionTitle(session)} ${session.title || ''} ${session.agentTitle} ${session.sessionId}`
        .toLowerCase()
        .includes(this.words)
    );
  }

  /** A session is shown if it or one of its branches matches. */
  shown(session, depth = 0) {
    return this.matches(session) || (depth < 100 && branchesOf(session).some(c => this.shown(c, depth + 1)));
  }

  branchList(sessions, depth, label) {
    return h(
      'ul.branches',
      {'aria-label': label, 'data-part': label},
      sessions.map(s => this.branch(s, depth)),
    );
  }

  branch(session, depth) {
    const children = depth < 100 ? branchesOf(session).filter(c => this.shown(c)) : [];
    const open = this.isOpen(session, children);
    const item = h('li.branch', {'data-part': session.sessionId}, this.row(session, children, open, depth));
    if (children.length && open)
      item.append(this.branchList(children, depth + 1, `Branches of ${sessionTitle(session)}`));
    return item;
  }

  isOpen(session, children) {
    if (this.words || this.choosing) return true; // only branches can be selected
    if (this.folded.has(session.sessionId)) return false;
    return this.open.has(session.sessionId) || children.some(c => this.leadsToSelected(c));
  }

  leadsToSelected(session) {
    if (session.sessionId === this.selected) return true;
    const selected = state.get(this.selected);
    return !!selected && state.ancestors(selected).includes(session);
  }

  row(session, children, open, depth) {
    const {sessionId, rewindFromTurn: from} = session;
    const current = sessionId === this.selected;
    const title = sessionTitle(session);
    const link = h(
      'a.row-link',
      {href: to.session(sessionId), 'data-key': `row ${sessionId}`, 'aria-current': current ? 'page' : null},
      h(
        'span.row-title',
        session.parentSessionId ? icon('branch') : null,
        h('span.row-name', {title}, title),
        mark(session),
      ),
      h(
        'span.row-meta',
        depth ? null : h('span', session.agentTitle || session.agent),
        h('span', plural(session.turns, 'turn')),
        from ? h('span', `from turn ${from}`) : null,
        h('time', {datetime: session.modified}, age(session.modified)),
      ),
    );
    const row = h(
      `div.row${current ? '.current' : ''}`,
      this.choosing ? this.checkbox(session) : null,
      h('div.row-text', link, children.length ? this.toggle(session, children, open) : null),
    );
    row.style.setProperty('--depth', Math.min(depth, 6));
    return row;
  }

  toggle(session, children, open) {
    const words = plural(children.length, 'branch', 'branches');
    return h(
      `button.fold${open ? '.open' : ''}`,
      {
        'aria-expanded': String(open),
        'data-key': `fold ${session.sessionId}`,
        'aria-label': `${words} of ${sessionTitle(session)}`,
        onclick: () => this.turnFold(session, open),
      },
      icon('chevron'),
      words,
    );
  }

  turnFold(session, open) {
    setMember(this.open, session.sessionId, !open);
    setMember(this.folded, session.sessionId, open);
    this.render();
  }

  checkbox(session) {
    const id = session.sessionId;
    const free = session.madeByRewind;
    return h('input', {
      type: 'checkbox',
      checked: this.chosen.has(id),
      disabled: !free,
      title: free ? null : NOT_OURS,
      'data-key': `box ${id}`,
      'aria-label': `Select ${sessionTitle(session)}`,
      'aria-description': free ? null : NOT_OURS,
      onchange: event => {
        setMember(this.chosen, id, event.target.checked);
        this.renderBar();
      },
    });
  }

  renderBar() {
    for (const id of this.chosen) if (!state.get(id)) this.chosen.delete(id);
    this.bar.hidden = !this.choosing;
    if (!this.choosing) return;
    const n = this.chosen.size;
    const onclick = async () => {
      if (await deleteBranches([...this.chosen])) this.choose(false);
    };
    fill(
      this.bar,
      h('span', {role: 'status'}, n ? `${n} selected` : 'Select branches to delete'),
      h('button.danger', {disabled: n === 0, onclick}, 'Delete…'),
    );
  }

  archive(sessions) {
    const rows = () => sessions.map(s => this.row(s, [], false, 0));
    return this.folder('archived', 'Archived', 'Archived sessions', sessions.length, rows, !!this.words);
  }

  trash() {
    const gone = this.words ? [] : state.trash;
    const rows = () => gone.map(one => this.deleted(one.sessionId, one.title));
    return this.folder('trash', 'Recently deleted', 'Recently deleted branches', gone.length, rows);
  }

  deleted(id, title) {
    const label = `Bring back ${title || id}`;
    return h(
      'div.row.gone',
      h('span.clip', {title: title || ''}, title || id),
      h('button.quiet', {'aria-label': label, onclick: () => undelete([id])}, 'Undo'),
    );
  }

  /** `rows()` is called if the folder is open. Without rows there is no folder. */
  folder(key, title, inside, count, rows, force = false) {
    if (!count) return null;
    const open = force || this.open.has(key);
    const label = `${title} (${count})`;
    const onclick = () => {
      setMember(this.open, key, !open);
      this.render();
    };
    return h(
      'section.folder-part',
      {'aria-label': label, 'data-part': key},
      h(
        `button.folder${open ? '.open' : ''}`,
        {'aria-expanded': String(open), 'data-key': key, onclick},
        icon('chevron'),
        label,
      ),
      open
        ? h(
            'ul.branches',
            {'aria-label': inside},
            rows().map(row => h('li.branch', row)),
          )
        : null,
    );
  }

  /** Up and down move between rows, right and left unfold and fold. */
  onKey(event) {
    const link = event.target.closest?.('.row-link');
    if (!link) return;
    const links = [...this.list.querySelectorAll('.row-link')];
    const at = links.indexOf(link);
    const fold = link.closest('.row').querySelector('.fold');
    if (event.key === 'ArrowDown') links[at + 1]?.focus();
    else if (event.key === 'ArrowUp') links[at - 1]?.focus();
    else if (event.key === 'ArrowRight' && fold?.getAttribute('aria-expanded') === 'false') fold.click();
    else if (event.key === 'ArrowLeft' && fold?.getAttribute('aria-expanded') === 'true') fold.click();
    else return;
    event.preventDefault();
  }
}

/** What `rewind list` and `rewind status` say about checkpoints that are missing or late. */
function missedNotices() {
  const {late = [], missed} = state.project || {};
  const found = late.map(one =>
    notice(
      'info',
      `A checkpoint is still being saved, since ${clock(one.at)}: ` +
        oneLine(one.description || one.event, 80),
    ),
  );
  if (missed?.count)
    found.push(notice('warning', [missed.text, ' ', h('code', 'rewind doctor'), ' says more.']));
  return found;
}

function branchesOf(session) {
  return unfolded(state.childrenOf(session.sessionId));
}

/** Archived sessions are in their own folder. Here, their branches take their place. */
function unfolded(sessions, depth = 0) {
  return sessions.flatMap(s =>
    !s.archived ? [s] : depth < 100 ? unfolded(state.childrenOf(s.sessionId), depth + 1) : [],
  );
}

/** The state of a session, as a word and a dot. */
export function mark(session) {
  if (session.busy) return h('span.mark.busy', {title: 'A turn is running'}, h('i.dot'), 'running');
  if (session.running)
    return h('span.mark.open', {title: 'A client has this session open'}, h('i.dot'), 'open');
  if (session.promoted) return h('span.mark.promoted', {title: 'Promoted: the main line now'}, 'main');
  return null;
}
