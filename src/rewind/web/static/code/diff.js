// Differences: a list of files, and a patch with line numbers.

import {h, fill} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {api} from '../core/api.js';
import {linesView} from './lines.js';
import {openModal} from '../parts/modal.js';
import {readInto} from '../parts/states.js';
import {plural, visible} from '../core/format.js';

const MOST_FILES = 1000;
const LETTERS = {added: 'A', modified: 'M', deleted: 'D'};

/** {added, modified, deleted} as one list, sorted by path. */
export function filesOf(diff) {
  return ['added', 'modified', 'deleted']
    .flatMap(status => (diff[status] || []).map(path => ({path, status})))
    .sort((a, b) => a.path.localeCompare(b.path));
}

export function statusLetter(status) {
  return h(
    `span.letter.${LETTERS[status] ? status : 'modified'}`,
    {title: status, role: 'img', 'aria-label': status},
    LETTERS[status] || 'M',
  );
}

export function counts(added, removed) {
  return h(
    'span.counts',
    h('span.plus', {'aria-label': plural(added, 'line added', 'lines added')}, `+${added}`),
    ' ',
    h('span.minus', {'aria-label': plural(removed, 'line removed', 'lines removed')}, `−${removed}`),
  );
}

/** If a path is too long, its beginning is cut, because the end says more. */
export function pathText(path) {
  const cut = path.lastIndexOf('/') + 1;
  return h(
    'span.path',
    {title: path},
    h('span.path-dir', visible(path.slice(0, cut))),
    h('span.path-name', visible(path.slice(cut))),
  );
}

/** Files that differ between two states. A press unfolds one. `before` makes the element before a file. */
export function fileList(files, from, target, before = () => null) {
  return h(
    'ul.files',
    files.slice(0, MOST_FILES).map(file => {
      const patch = h('div.file-patch');
      const open = h(
        'button.file',
        {
          'aria-expanded': 'false',
          onclick: () => {
            const now = open.getAttribute('aria-expanded') !== 'true';
            open.setAttribute('aria-expanded', String(now));
            if (now) loadLines(patch, () => api.reviewFile({from, to: target}, file.path));
            else fill(patch);
          },
        },
        icon('chevron'),
        statusLetter(file.status),
        pathText(file.path),
      );
      return h('li', h('div.file-row', before(file), open), patch);
    }),
  );
}

/**
 * A dialog with the lines of a file that differ. `ends` names the two states, and `read()` finds the lines.
 */
export function openLines(path, ends, read) {
  const {body} = openModal(path, {wide: true, kind: 'diff-dialog', leave: 'Close'});
  const place = h('div');
  body.append(h('p.muted.diff-ends', ends), place);
  return loadLines(place, read, {label: `Changes to ${path}`});
}

export function openDiff(from, target, path) {
  const name = point => h('code', point === 'now' ? 'the files now' : point);
  return openLines(path, [name(from), icon('chevron'), name(target)], () =>
    api.reviewFile({from, to: target}, path),
  );
}

function loadLines(place, read, options) {
  return readInto(place, 'Reading the difference', 2, async () => {
    try {
      const {rows, verdict} = await read();
      return rows.length ? linesView(rows, options) : h('p.muted.pad', whyNoLines(verdict));
    } catch (error) {
      if (error.code !== 'path-not-found') throw error;
      return h('p.muted.pad', 'Nothing in this file differs between these two points.');
    }
  });
}

export function whyNoLines(verdict) {
  if (verdict === 'binary') return 'This file is binary: it changed, but not in lines.';
  if (verdict === 'large') return 'This file is too large to show here. Use rewind diff in a terminal.';
  if (verdict === 'unreadable') return 'This file cannot be read.';
  return 'Only its mode changed, or it is a directory or a link.';
}
