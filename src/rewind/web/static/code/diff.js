// Differences: a list of files, and a patch with line numbers.

import {h, fill} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {api} from '../core/api.js';
import {openModal} from '../parts/modal.js';
import {loadingState, errorState} from '../parts/states.js';
import {plural} from '../core/format.js';

const MOST_LINES = 3000;
const MOST_FILES = 1000;
const LETTERS = {added: 'A', modified: 'M', deleted: 'D'};

/** {added, modified, deleted} as one list in order of path. */
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
    {},
    h('span.plus', {'aria-label': plural(added, 'line added', 'lines added')}, `+${added}`),
    ' ',
    h('span.minus', {'aria-label': plural(removed, 'line removed', 'lines removed')}, `−${removed}`),
  );
}

/** A long path keeps its end, which says more than its beginning. */
export function pathText(path) {
  const cut = path.lastIndexOf('/') + 1;
  return h(
    'span.path',
    {title: path},
    h('span.path-dir', {}, path.slice(0, cut)),
    h('span.path-name', {}, path.slice(cut)),
  );
}

export function patchView(patch) {
  const lines = patch.replace(/\n$/, '').split('\n');
  const table = h('div.patch', {tabindex: '0', role: 'region', 'aria-label': 'Changes, line by line'});
  let before = 0,
    after = 0;
  for (const line of lines.slice(0, MOST_LINES)) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (hunk) [before, after] = [Number(hunk[1]), Number(hunk[2])];
    const kind = hunk ? 'hunk' : kindOf(line, before || after);
    if (!/^(--- |\+\+\+ |diff |index )/.test(line) || kind !== 'about')
      table.append(patchLine(line, kind, before, after));
    if (kind === 'del' || kind === 'same') before += 1;
    if (kind === 'add' || kind === 'same') after += 1;
    if (kind === 'about') before = after = 0;
  }
  if (lines.length > MOST_LINES)
    table.append(h('p.muted', {}, `${lines.length - MOST_LINES} more lines are not shown.`));
  return table;
}

function kindOf(line, within) {
  if (
    /^(diff |index |--- |\+\+\+ |new file|deleted file|Binary )/.test(line) &&
    !(within && /^[+-][^+-]/.test(line))
  )
    return 'about';
  return line[0] === '+'
    ? 'add'
    : line[0] === '-'
      ? 'del'
      : line[0] === '\\'
        ? 'hunk'
        : within
          ? 'same'
          : 'about';
}

function patchLine(line, kind, before, after) {
  const numbered = kind === 'add' || kind === 'del' || kind === 'same';
  const [sign, text] = numbered ? [line[0] || ' ', line.slice(1)] : ['', line];
  return h(
    `div.line.${kind}`,
    {},
    h('span.no', {'aria-hidden': 'true'}, numbered && kind !== 'add' ? String(before) : ''),
    h('span.no', {'aria-hidden': 'true'}, numbered && kind !== 'del' ? String(after) : ''),
    h('span.sign', {}, sign),
    h('span.text', {}, text),
  );
}

/** Files that differ between two states; a press on one unfolds its patch. `before` makes what stands in front of it. */
export function fileList(files, from, target, before = () => null) {
  return h(
    'ul.files',
    {},
    files.slice(0, MOST_FILES).map(file => {
      const patch = h('div.file-patch');
      const open = h(
        'button.file',
        {
          type: 'button',
          'aria-expanded': 'false',
          onclick: () => {
            const now = open.getAttribute('aria-expanded') !== 'true';
            open.setAttribute('aria-expanded', String(now));
            if (now) loadPatch(patch, from, target, file.path);
            else fill(patch);
          },
        },
        icon('chevron'),
        statusLetter(file.status),
        pathText(file.path),
      );
      return h('li', {}, h('div.file-row', {}, before(file), open), patch);
    }),
  );
}

/** Fills a place with the patch of one file between two states. */
export async function loadPatch(place, from, target, path) {
  fill(place, loadingState('Reading the difference', 2));
  try {
    const diff = await api.diff(from, target, path);
    fill(place, diff.patch ? patchView(diff.patch) : h('p.muted.pad', {}, whyNoPatch(diff, path)));
  } catch (error) {
    fill(
      place,
      errorState(error, () => loadPatch(place, from, target, path)),
    );
  }
}

function whyNoPatch(diff, path) {
  if ((diff.binary || []).includes(path)) return 'This file is binary: it changed, but not in lines.';
  if (![...(diff.added || []), ...(diff.modified || []), ...(diff.deleted || [])].includes(path))
    return 'This file is the same in both states.';
  return 'The difference is too large to show here. Use rewind diff in a terminal.';
}

export function openDiff(from, target, path) {
  const {body, foot, close} = openModal(path, {wide: true, kind: 'diff-dialog'});
  body.append(h('p.muted.diff-ends', {}, h('code', {}, from), icon('chevron'), h('code', {}, target)));
  const place = h('div');
  body.append(place);
  foot.append(h('button.plain', {type: 'button', onclick: () => close()}, 'Close'));
  return loadPatch(place, from, target, path);
}
