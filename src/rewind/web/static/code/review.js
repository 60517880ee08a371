// All changes between two points: the files as a tree, and each file line by line.

import {h, fill, listOf, setCurrent} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {api} from '../core/api.js';
import {state} from '../core/state.js';
import {to} from '../core/route.js';
import {LATER} from '../core/keyboard.js';
import {plural, sessionTitle, visible} from '../core/format.js';
import {emptyState, loadingState, readInto} from '../parts/states.js';
import {openRewind} from '../plans/rewind.js';
import {openHunk, openRestore} from '../plans/restore.js';
import {say, sayError} from '../parts/toast.js';
import {counts, pathText, statusLetter, whyNoLines} from './diff.js';
import {linesView, reversedHunk} from './lines.js';
import {View, viewHead} from '../parts/view.js';

const KEY = 'rewind.split';
const WIDE = '(min-width: 1000px)';

export class ReviewView extends View {
  /** `route`: {session, turns: [first, last]} or {from, target} */
  constructor(host, route) {
    super(host);
    Object.assign(this, {route, sections: new Map()});
    this.split = remembered() && matchMedia(WIDE).matches;
    this.query = route.session
      ? {session: route.session, turn: route.turns[0], last: route.turns[1]}
      : {from: route.from, to: route.target};
    this.near = new IntersectionObserver(seen => this.seen(seen), {rootMargin: '600px'});
    document.title = `${this.title} – Rewind`;
    this.ready = this.load();
  }

  get title() {
    const {session, turns} = this.route;
    if (!session) return 'What changed';
    return turns[1] > turns[0] ? `Turns ${turns[0]} to ${turns[1]}` : `Turn ${turns[0]}`;
  }

  async load() {
    fill(this.host, loadingState('Comparing'));
    try {
      this.found = await api.review(this.query);
      if (!this.ended) this.show();
    } catch (error) {
      this.failed = true;
      this.fail(error, () => this.load(), this.head());
    }
  }

  show() {
    const {files} = this.found;
    this.body = h('div.review-files', {tabindex: '-1'});
    this.tree = h('nav.review-tree', {'aria-label': 'Changed files'}, this.list(files));
    fill(this.host, this.head(), h('div.review', this.tree, this.body));
    if (!files.length)
      fill(this.body, emptyState('Nothing changed', 'The files are the same at both points.'));
    for (const file of files) this.body.append(this.section(file));
    if (this.found.more) this.body.append(h('p.muted.pad', `and ${plural(this.found.more, 'more file')}`));
    if (this.focusWanted) this.arrive();
  }

  // the header

  head() {
    const {found} = this;
    const session = state.get(this.route.session);
    const [href, from] = session
      ? [to.session(session.sessionId, this.route.turns[0]), sessionTitle(session)]
      : [to.checkpoints(), 'History'];
    return viewHead(this.title, {
      way: h('a', {href}, icon('back'), from),
      beside: [
        found && h('span.review-ends', `${found.words.from} → ${found.words.to}`),
        h('span.grow'),
        h('div.actions', this.actions(session)),
      ],
      more:
        found &&
        h(
          'p.meta',
          h('span', plural(found.files.length + found.more, 'file')),
          h('span', found.counted === false ? 'at least ' : null, counts(found.added, found.removed)),
        ),
    });
  }

  actions(session) {
    if (!this.found) return [];
    const rewind = {'aria-label': 'Rewind to before this', onclick: () => this.rewind()};
    return [
      h(
        'button.quiet.split-choice',
        {'aria-pressed': String(this.split), onclick: () => this.setSplit(!this.split)},
        icon('columns'),
        h('span', 'Side by side'),
      ),
      session && h('button.primary', rewind, icon('rewind'), h('span', 'Rewind to before this')),
    ];
  }

  async rewind() {
    const {session, turns} = this.route;
    try {
      const [turn] = (await api.turns(session, turns[0], 1)).turns;
      if (!turn?.canRewind) return say(turn?.reason || 'This turn cannot be rewound to.', {kind: 'info'});
      if (turn.turn > 1) return openRewind(state.get(session), turn, {mode: 'both'});
      return openRestore({name: this.found.from, description: 'Before the first prompt'}, [], () => {});
    } catch (error) {
      return sayError(error);
    }
  }

  setSplit(on) {
    this.split = on;
    remember(on);
    this.host.querySelector('.split-choice').setAttribute('aria-pressed', String(on));
    for (const section of this.sections.values()) if (section.rows) this.draw(section);
  }

  // the files

  list(files) {
    const folders = new Map();
    for (const file of files) {
      const folder = file.path.slice(0, file.path.lastIndexOf('/') + 1);
      if (!folders.has(folder)) folders.set(folder, []);
      folders.get(folder).push(file);
    }
    return [...folders.keys()].sort().map(folder =>
      h(
        'section',
        folder ? h('h2.folder-name.clip', {title: folder}, visible(folder)) : null,
        listOf('ul', folders.get(folder), file => this.link(file, file.path.slice(folder.length))),
      ),
    );
  }

  link(file, name) {
    return h(
      'button.review-link',
      {title: file.path, onclick: () => this.showFile(file.path)},
      statusLetter(file.status),
      h('span.clip', visible(name)),
      fileCounts(file),
    );
  }

  section(file) {
    const place = h('div.review-lines');
    const node = h(
      'section.review-file',
      {'data-path': file.path, 'aria-label': file.path, tabindex: '-1'},
      h('header', statusLetter(file.status), pathText(file.path), fileCounts(file), this.back(file)),
      place,
    );
    this.sections.set(file.path, {file, node, place, rows: null});
    this.near.observe(node);
    return node;
  }

  /** A button that restores the file as it was at the first point, after showing the plan. */
  back(file) {
    if (file.status === 'added' || this.found.from === 'now') return null;
    const {from: name, words} = this.found;
    const onclick = () => openRestore({name, description: words.from}, [file.path], () => {});
    return h('button.quiet', {title: `Restore it as it was ${words.from}`, onclick}, 'Bring back this file…');
  }

  seen(entries) {
    for (const {isIntersecting, target} of entries) {
      const section = isIntersecting && this.sections.get(target.dataset.path);
      if (section && !section.asked) this.read(section);
    }
  }

  read(section) {
    section.asked = true;
    readInto(section.place, 'Reading the difference', 1, async () => {
      const {from, to: target} = this.found;
      const {rows, hunks, verdict} = await api.reviewFile({from, to: target}, section.file.path);
      Object.assign(section, {rows, hunks, verdict});
      this.draw(section);
    });
  }

  draw(section) {
    const {rows, hunks, verdict, file} = section;
    const label = `Changes to ${file.path}`;
    const before = file.status === 'modified' ? hunk => this.hunkBar(section, hunk) : null;
    fill(
      section.place,
      rows.length
        ? linesView(rows, {split: this.split, label, hunks, before})
        : h('p.muted.pad', whyNoLines(verdict)),
    );
  }

  /** A button above a hunk, because one hunk of a file can be brought back without the others. */
  hunkBar(section, hunk) {
    const title = `Make these lines as they were ${this.found.words.from} (b)`;
    const about = {'data-hunk': hunk.id, title, onclick: () => this.bringBack(section, hunk.id)};
    return h('div.hunk-bar', h('button.hunk-back', about, icon('undo'), 'Bring back this hunk…'));
  }

  bringBack(section, id) {
    const {from, to: target} = this.found;
    const about = this.route.session ? this.title.toLowerCase() : '';
    openHunk({from, to: target, path: section.file.path, hunk: id, label: about}, this.found.words.from, () =>
      linesView(reversedHunk(section.rows, section.hunks, id), {label: 'Lines that come back'}),
    );
  }

  /** The hunk of the change that was selected last, otherwise the first hunk in view. */
  hunkInView() {
    const top = this.body.getBoundingClientRect().top;
    const at = this.body.querySelector('.at-change')?.getBoundingClientRect().top;
    const all = [...this.body.querySelectorAll('.hunk-back')];
    const y = node => node.getBoundingClientRect().top;
    return at === undefined ? all.find(node => y(node) > top) : all.filter(node => y(node) <= at + 4).at(-1);
  }

  // moving

  showFile(path) {
    const section = this.sections?.get(path);
    if (!section) return;
    if (!section.asked) this.read(section);
    section.node.scrollIntoView({block: 'start'});
    section.node.focus({preventScroll: true});
    for (const link of this.tree.querySelectorAll('.review-link')) setCurrent(link, link.title === path);
  }

  key(name) {
    if (!this.body) return !this.failed && '][npbr'.includes(name) && LATER;
    if (name === ']' || name === '[')
      return this.step([...this.body.querySelectorAll('.review-file')], name === ']', 1);
    if (name === 'n' || name === 'p') return this.step(this.changes(), name === 'n', 60);
    if (name === 'r') this.rewind();
    else if (name === 'b') this.hunkInView()?.click();
    else return false;
    return true;
  }

  /** The first line of each change. */
  changes() {
    const changed = '.line.add, .line.del, .pair:has(.add, .del)';
    return [...this.body.querySelectorAll('.patch > *')].filter(
      node => node.matches(changed) && !node.previousElementSibling?.matches(changed),
    );
  }

  step(nodes, forward, margin) {
    const top = this.body.getBoundingClientRect().top + margin;
    const at = node => node.getBoundingClientRect().top - top;
    const next = forward ? nodes.find(node => at(node) > 4) : nodes.filter(node => at(node) < -4).at(-1);
    if (!next) return true;
    if (next.dataset.path) this.showFile(next.dataset.path);
    else {
      this.body.scrollTop += at(next);
      this.body.querySelector('.at-change')?.classList.remove('at-change');
      next.classList.add('at-change');
    }
    return true;
  }

  arrive() {
    this.focusWanted = true;
    super.arrive();
  }

  end() {
    super.end();
    this.near.disconnect();
  }
}

function fileCounts({added, removed}) {
  return added === null ? null : counts(added, removed);
}

function remembered() {
  try {
    return localStorage.getItem(KEY) === 'yes';
  } catch (_) {
    return false; // storage may be forbidden
  }
}

function remember(on) {
  try {
    localStorage.setItem(KEY, on ? 'yes' : 'no');
  } catch (_) {
    // the choice is kept only for this page
  }
}
