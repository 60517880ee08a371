// The tree of files at a point, folder by folder, with how often each one changed.

import {h, fill, inPlace, setMember, setCurrent} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {api} from '../core/api.js';
import {afterPause} from '../core/order.js';
import {to} from '../core/route.js';
import {plural, visible} from '../core/format.js';
import {loadingState, showError} from '../parts/states.js';
import {heat} from './heat.js';

const UNCOUNTED = 'There are very many checkpoints: the oldest are not counted.';
const PAUSE = 200; // milliseconds after the last key

export class FileTree {
  /** `view`: {point, path, drawHead()} */
  constructor(view) {
    Object.assign(this, {view, open: new Set(), folders: new Map(), gone: false, words: ''});
    this.filter = h('input', {
      type: 'search',
      placeholder: 'Find a file',
      'aria-label': 'Find a file',
      oninput: afterPause(() => this.find(this.filter.value.trim()), PAUSE),
    });
    this.deleted = h('label.tree-gone', {hidden: true});
    this.list = h('div.tree-rows', {onkeydown: event => this.move(event)});
    this.node = h(
      'nav.files-tree',
      {'aria-label': 'Files at this point'},
      h('div.tree-tools', this.filter, this.deleted),
      this.list,
    );
  }

  find(words) {
    this.words = words;
    this.load();
  }

  query(under) {
    return {
      at: this.view.point,
      ...(this.words ? {q: this.words} : {under}),
      ...(this.gone ? {gone: 'yes'} : {}),
    };
  }

  /** Reads the top and every open folder. The shown rows stay until the new ones are there. */
  async load() {
    const turn = (this.turn = (this.turn || 0) + 1);
    if (!this.list.firstChild) fill(this.list, loadingState('Reading the files', 3));
    for (const folder of parentsOf(this.view.path)) this.open.add(folder);
    const wanted = this.words ? [''] : ['', ...this.open];
    try {
      const found = await Promise.all(wanted.map(under => this.read(under)));
      if (turn !== this.turn) return;
      this.folders = new Map(wanted.map((under, n) => [under, found[n]]).filter(([, one]) => one));
      this.point = found[0].point;
      this.view.drawHead();
      this.draw();
    } catch (error) {
      if (turn === this.turn) showError(this.list, error, () => this.load());
    }
  }

  /** null if the folder does not exist at this point. */
  async read(under) {
    try {
      return await api.files(this.query(under));
    } catch (error) {
      if (under) return null;
      throw error;
    }
  }

  draw() {
    const found = this.folders.get('');
    this.drawDeleted(found.gone);
    inPlace(this.list, () =>
      fill(
        this.list,
        found.entries.length ? this.rows(found, 0) : h('p.muted.pad', this.nothing()),
        found.complete ? null : h('p.muted.pad.small', UNCOUNTED),
      ),
    );
    this.mark();
  }

  nothing() {
    return this.words ? `No path contains “${this.words}”.` : 'There are no files at this point.';
  }

  drawDeleted(count) {
    this.deleted.hidden = !count && !this.gone;
    const box = h('input', {
      type: 'checkbox',
      checked: this.gone,
      onchange: () => {
        this.gone = box.checked;
        this.load();
      },
    });
    if (document.activeElement?.parentNode === this.deleted) return;
    fill(this.deleted, box, `Show deleted files (${count})`);
  }

  rows(found, depth) {
    return h(
      'ul',
      found.entries.map(entry => this.row(entry, found.most, depth)),
      found.more ? h('li.muted.pad', `and ${plural(found.more, 'more')}: find them by name`) : null,
    );
  }

  row(entry, most, depth) {
    const item = h('li');
    const node = entry.kind === 'folder' ? this.folder(entry) : this.file(entry);
    node.dataset.key = entry.path;
    node.style.setProperty('--depth', depth);
    node.append(heat(entry, most));
    item.append(node);
    const inside = entry.kind === 'folder' && this.open.has(entry.path) && this.folders.get(entry.path);
    if (inside) item.append(this.rows({...inside, most}, depth + 1));
    return item;
  }

  folder(entry) {
    const open = this.open.has(entry.path);
    return h(
      `button.tree-row.tree-folder${entry.gone ? '.gone' : ''}`,
      {'aria-expanded': String(open), onclick: () => this.toggle(entry.path)},
      icon('chevron'),
      h('span.clip', visible(entry.name)),
    );
  }

  file(entry) {
    const name = visible(this.words ? entry.path : entry.name);
    if (entry.kind === 'uncovered')
      return h('span.tree-row.muted', {title: 'Not captured'}, icon('file'), h('span.clip', name));
    return h(
      `a.tree-row${entry.gone ? '.gone' : ''}`,
      {href: to.files(this.view.point, entry.path), title: entry.path},
      icon('file'),
      h('span.clip', name),
      entry.gone ? h('span.visually-hidden', ', deleted') : null,
    );
  }

  async toggle(path) {
    setMember(this.open, path, !this.open.has(path));
    if (this.open.has(path) && !this.folders.has(path)) {
      try {
        this.folders.set(path, await api.files(this.query(path)));
      } catch (_) {
        this.open.delete(path);
      }
    }
    this.draw();
  }

  /** Marks the file that is shown at the right. */
  mark() {
    for (const row of this.list.querySelectorAll('.tree-row'))
      setCurrent(row, row.dataset.key === this.view.path);
  }

  /** Up and down move between rows, right opens a folder, left closes it. */
  move(event) {
    const rows = [...this.list.querySelectorAll('.tree-row:is(a, button)')];
    const at = rows.indexOf(document.activeElement);
    if (at < 0) return;
    const to = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1}[event.key];
    const isOpen = rows[at].getAttribute('aria-expanded');
    if (to !== undefined) rows[Math.min(rows.length - 1, Math.max(0, to))].focus();
    else if (event.key === 'ArrowRight' && isOpen === 'false') rows[at].click();
    else if (event.key === 'ArrowLeft' && isOpen === 'true') rows[at].click();
    else if (event.key === 'ArrowLeft') rows[at].closest('ul').parentNode.querySelector('.tree-row')?.focus();
    else return;
    event.preventDefault();
  }
}

/** All folders above a file. */
function parentsOf(path) {
  const parts = (path || '').split('/').slice(0, -1);
  return parts.map((_, n) => parts.slice(0, n + 1).join('/'));
}
