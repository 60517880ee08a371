// A difference line by line, from rows that the server made: unified or side by side, with equal lines
// folded.

import {h} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {plural} from '../core/format.js';
import {fromServer} from './door.js';

const CONTEXT = 3;
const FOLDED = 10; // this many equal lines are folded

/**
 * rows: [kind, number before, number after, html]. `before` makes the element above the first row of a hunk.
 * hunks: [{id, row}].
 */
export function linesView(rows, options = {}) {
  const {split = false, label = 'Changes, line by line', hunks = [], before = null} = options;
  const node = h(`div.patch${split ? '.split' : ''}`, {tabindex: '0', role: 'region', 'aria-label': label});
  const starts = before ? new Map(hunks.map(hunk => [rows[hunk.row], hunk])) : new Map();
  const made = {split, above: row => (starts.has(row) ? [before(starts.get(row))] : [])};
  for (const part of parts(rows))
    node.append(...(part.folded ? [fold(part.rows, made)] : draw(part.rows, made)));
  return node;
}

/** The effect of bringing a hunk back on the current lines: added lines are removed, removed ones added. */
export function reversedHunk(rows, hunks, id) {
  const at = hunks.findIndex(hunk => hunk.id === id);
  const end = hunks[at + 1]?.row ?? rows.length;
  const turned = {add: 'del', del: 'add'};
  const found = rows
    .slice(Math.max(0, hunks[at].row - CONTEXT), end)
    .map(([kind, before, after, html]) => [turned[kind] || kind, after, before, html]);
  const near = n => found.slice(Math.max(0, n - CONTEXT), n + CONTEXT + 1).some(isChange);
  return removedFirst(found.filter((row, n) => isChange(row) || near(n)));
}

function isChange([kind]) {
  return kind === 'add' || kind === 'del';
}

/** In each change, removed lines come before added ones. */
function removedFirst(rows) {
  const found = [];
  const added = [];
  for (const row of rows) {
    if (row[0] === 'add') added.push(row);
    else if (row[0] === 'del') found.push(row);
    else found.push(...added.splice(0), row);
  }
  return [...found, ...added];
}

/** Parts to show and parts to fold. A few equal lines around each change are shown. */
function parts(rows) {
  const found = [];
  let at = 0;
  while (at < rows.length) {
    let end = at;
    while (end < rows.length && rows[end][0] === 'same') end += 1;
    const head = at ? CONTEXT : 0;
    const tail = end < rows.length ? CONTEXT : 0;
    if (end - at >= FOLDED + head + tail) {
      found.push({rows: rows.slice(at, at + head)}, {rows: rows.slice(at + head, end - tail), folded: true});
      at = end - tail;
    }
    let stop = end;
    while (stop < rows.length && rows[stop][0] !== 'same') stop += 1;
    found.push({rows: rows.slice(at, stop)});
    at = Math.max(stop, at + 1);
  }
  return found.filter(part => part.rows.length);
}

function fold(rows, made) {
  const button = h(
    'button.unfold',
    {onclick: () => button.replaceWith(...draw(rows, made))},
    icon('fold'),
    `Show ${plural(rows.length, 'unchanged line')}`,
  );
  return button;
}

function draw(rows, {split, above}) {
  if (!split) return rows.flatMap(row => [...above(row), line(row)]);
  return pairs(rows).flatMap(([before, after]) => [
    ...above(before),
    ...(after === before ? [] : above(after)),
    pairLine(before, after),
  ]);
}

function line([kind, before, after, html]) {
  if (kind === 'gap') return h('div.line.gap', '…');
  const sign = {add: '+', del: '-'}[kind] || ' ';
  const numbers = [lineNumber(before), lineNumber(after)];
  return h(`div.line.${kind}`, numbers, h('span.sign', sign), h('span.text', fromServer(html)));
}

function lineNumber(value) {
  return h('span.no', {'aria-hidden': 'true'}, value ? String(value) : '');
}

/** Pairs for two columns: removed lines beside added ones. */
function pairs(rows) {
  const found = [];
  for (let at = 0; at < rows.length;) {
    const run = [[], []];
    while (at < rows.length && (rows[at][0] === 'del' || rows[at][0] === 'add')) {
      run[rows[at][0] === 'del' ? 0 : 1].push(rows[at]);
      at += 1;
    }
    for (let n = 0; n < Math.max(run[0].length, run[1].length); n += 1) found.push([run[0][n], run[1][n]]);
    if (at < rows.length && !['del', 'add'].includes(rows[at][0])) {
      found.push([rows[at], rows[at]]);
      at += 1;
    }
  }
  return found;
}

function pairLine(before, after) {
  if ((before || after)[0] === 'gap') return h('div.line.gap', '…');
  return h('div.pair', half(before, 1), half(after, 2));
}

function half(row, which) {
  if (!row) return h('div.line.none');
  const sign = {add: '+', del: '-'}[row[0]] || ' ';
  const text = h('span.text', fromServer(row[3]));
  return h(`div.line.${row[0]}`, lineNumber(row[which]), h('span.sign', sign), text);
}
