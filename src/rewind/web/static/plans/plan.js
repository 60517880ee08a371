// What a restore would do to which files, before it does it.

import {h} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {moment, number, plural} from '../core/format.js';
import {openDiff, pathText} from '../code/diff.js';
import {notice} from '../parts/states.js';

const SHOWN = 500; // as many as the server lists

/** The parts of a plan that speak of code. */
export function codePlan(plan, point = plan.code?.checkpoint) {
  const written = count(plan, 'written'),
    deleted = count(plan, 'deleted');
  const parts = [];
  if (plan.code) {
    parts.push(
      h(
        'p.plan-line',
        icon('diamond'),
        h(
          'span',
          plan.code.exact === false ? 'The nearest earlier checkpoint, ' : 'The code of checkpoint ',
          h('code', plan.code.checkpoint),
          plan.code.createdAt ? `, ${moment(plan.code.createdAt)}` : '',
        ),
      ),
    );
  }
  if (count(plan, 'changedSince')) parts.push(changedSince(plan, point));
  if (!written && !deleted)
    parts.push(h('p.plan-line', icon('check'), h('span', 'No file changes: the files are as they were.')));
  parts.push(
    list(
      'written',
      written,
      `${plural(written, 'file is', 'files are')} written`,
      plan.written,
      'modified',
      point,
    ),
    list(
      'deleted',
      deleted,
      `${plural(deleted, 'file is', 'files are')} deleted`,
      plan.deleted,
      'deleted',
      point,
    ),
    list(
      'kept',
      count(plan, 'kept'),
      `${plural(count(plan, 'kept'), 'file is', 'files are')} kept`,
      plan.kept,
      'kept',
      point,
    ),
  );
  return parts.filter(Boolean);
}

export function planNotes(plan) {
  return [
    ...(plan.warnings || []).map(w => notice('warning', w.message)),
    ...(plan.notes || []).map(n => notice('info', n)),
  ];
}

function count(plan, field) {
  return plan[`${field}Count`] ?? plan[field]?.length ?? 0;
}

function changedSince(plan, point) {
  const n = count(plan, 'changedSince');
  return notice('warning', [
    h('strong', `${plural(n, 'file has', 'files have')} changed since by someone else.`),
    ' What is there now is saved in a backup first.',
    h(
      'ul.paths',
      plan.changedSince.slice(0, SHOWN).map(p => h('li', pathItem(p, point))),
    ),
  ]);
}

/** Every path can be looked at before the plan is confirmed: what is there now, and what would be. */
function pathItem(path, point) {
  if (!point) return pathText(path);
  const open = typeof point === 'function' ? point : () => openDiff('now', point, path);
  return h(
    'button.plan-path',
    {title: `See what changes in ${path}`, onclick: () => open(path)},
    pathText(path),
  );
}

function list(kind, n, label, items, spec, point = null) {
  if (!n) return null;
  const paths = (items || []).slice(0, SHOWN);
  return h(
    `details.plan-list.${kind}`,
    {open: n <= 6 && kind !== 'kept'},
    h('summary', icon('chevron'), h(`span.plan-mark.${spec}`), label),
    h(
      'ul.paths',
      paths.map(item =>
        h(
          'li',
          pathItem(item.path ?? item, point),
          item.reason ? h('small', item.text || item.reason) : null,
        ),
      ),
      n > paths.length ? h('li.muted', `and ${number(n - paths.length)} more`) : null,
    ),
  );
}

/** What to say when a plan was not carried out; `changed`: because it would be another one now. */
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
