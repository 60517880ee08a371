// The parts of a plan that every dialog shows: what happens to which files, warnings, and why it was refused.

import {h, listOf} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {moment, number, plural} from '../core/format.js';
import {openDiff, pathText} from '../code/diff.js';
import {notice} from '../parts/states.js';

const SHOWN = 500; // as many as the server lists
const UNCHANGED = 'No file changes: the files are as they were.';

/** The parts of a plan that are about code. */
export function codePlan(plan, point = plan.code?.checkpoint) {
  return [
    plan.code ? source(plan.code) : null,
    amount(plan, 'changedSince') ? changedSince(plan, point) : null,
    amount(plan, 'written') || amount(plan, 'deleted') ? null : planLine('check', UNCHANGED),
    list(plan, 'written', 'modified', point),
    list(plan, 'deleted', 'deleted', point),
    list(plan, 'kept', 'kept', point),
  ];
}

/** One line of a plan: what will happen. */
export function planLine(sign, ...words) {
  return h('p.plan-line', icon(sign), h('span', words));
}

function source({exact, checkpoint, createdAt}) {
  const words = exact === false ? 'The nearest earlier checkpoint, ' : 'The code of checkpoint ';
  return planLine('diamond', words, h('code', checkpoint), createdAt ? `, ${moment(createdAt)}` : '');
}

export function planNotes(plan) {
  return [
    ...(plan.warnings || []).map(w => notice('warning', w.message)),
    ...(plan.notes || []).map(n => notice('info', n)),
  ];
}

/** The number of files. The list itself may be shorter. */
export function amount(plan, field) {
  return plan[`${field}Count`] ?? plan[field]?.length ?? 0;
}

function changedSince(plan, point) {
  const n = amount(plan, 'changedSince');
  return notice('warning', [
    h('strong', `${plural(n, 'file has', 'files have')} changed since by someone else.`),
    ' What is there now is saved in a backup first.',
    listOf('ul.paths', plan.changedSince.slice(0, SHOWN), path => pathItem(path, point)),
  ]);
}

/** A path that opens its difference: the file now, and after the plan. */
function pathItem(path, point) {
  if (!point) return pathText(path);
  const open = typeof point === 'function' ? point : () => openDiff('now', point, path);
  return h(
    'button.plan-path',
    {title: `See what changes in ${path}`, onclick: () => open(path)},
    pathText(path),
  );
}

function list(plan, kind, spec, point) {
  const n = amount(plan, kind);
  if (!n) return null;
  const shown = (plan[kind] || []).slice(0, SHOWN);
  const paths = listOf('ul.paths', shown, item => [
    pathItem(item.path ?? item, point),
    item.reason ? h('small', item.text || item.reason) : null,
  ]);
  if (n > shown.length) paths.append(h('li.muted', `and ${number(n - shown.length)} more`));
  const label = `${plural(n, 'file is', 'files are')} ${kind}`;
  return h(
    `details.plan-list.${kind}`,
    {open: n <= 6 && kind !== 'kept'},
    h('summary', icon('chevron'), h(`span.plan-mark.${spec}`), label),
    paths,
  );
}

/** Files in conflict. `item` draws one of them. */
export function conflictNotice(files, reason, item) {
  return notice('warning', [
    h('strong', `${plural(files.length, 'file is', 'files are')} in conflict, so nothing is written yet. `),
    `${reason} Choose what to do, or cancel.`,
    listOf('ul.clashes', files, item),
  ]);
}

/** Why a plan was not applied. `changed`: because the plan would now be another one. */
export function whyRefused(error, changed) {
  return notice(
    'warning',
    changed
      ? [
          h('strong', 'Something changed since this plan was made.'),
          ' Nothing was done. Here is the new plan: look at it again, then confirm.',
        ]
      : [h('strong', error.message), ' ', error.hint],
  );
}
