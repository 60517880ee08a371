// The dialog that shows a plan to confirm. If there are several ways to do it, the person chooses one.

import {h, fill, freshId} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {state} from '../core/state.js';
import {openModal} from '../parts/modal.js';
import {sayError} from '../parts/toast.js';
import {errorNotice, loadingState} from '../parts/states.js';
import {whyRefused} from './plan_parts.js';
import {showPanel} from './panel.js';

/**
 * `lead(plan)` and `text` are shown at the top. `load(how)` makes the plan and `parts(plan, how)` draws
 * it, with `above(plan)` before it and `below` after it. `ready(plan)`: whether it can be carried out.
 * `how` is the option that is chosen at first, and `choice(choose)` draws the options. Instead of
 * `choice`, `ways` lists the ways to settle a conflict, each [value, label, meaning]; once there is a
 * conflict, they are drawn below `legend`. `run(stamp, how)` carries the plan out, then `done(answer)` is
 * called.
 */
export function openPlan({
  title,
  kind = '',
  lead = null,
  text = null,
  sign = 'rewind',
  label,
  how = '',
  choice = null,
  ways = [],
  legend = 'In a conflict',
  load,
  above = () => null,
  parts,
  below = [],
  ready = () => true,
  run,
  done,
}) {
  const {body, foot, cancel, close, dialog} = openModal(title, {kind});
  const first = lead && h('p.lead', lead({}));
  const problem = h('div', {role: 'alert'});
  const clashes = h('div', {'aria-live': 'polite'});
  const chosen = h('div', choice?.(choose));
  const place = h('div.plan', {'aria-live': 'polite'});
  const act = h('button.primary', {disabled: true, onclick: () => confirm()}, icon(sign), h('span', label));
  fill(body, first, text && h('p.muted', text), problem, clashes, chosen, place, below);
  foot.append(act);
  (chosen.querySelector(':checked') || cancel).focus();
  body.addEventListener('keydown', event => {
    if (event.key !== 'Enter' || event.target.type !== 'text') return;
    event.preventDefault();
    if (!act.disabled) confirm();
  });
  let plan = null;
  show();
  return dialog;

  async function show() {
    act.disabled = true;
    if (!plan) fill(place, loadingState('Working out what will happen', 1));
    const wanted = how;
    try {
      const found = await load(wanted);
      if (wanted !== how) return; // the person has chosen another way meanwhile
      plan = found;
      draw();
    } catch (error) {
      if (wanted !== how) return;
      plan = null;
      fill(place, errorNotice(error, show));
    }
  }

  function draw() {
    const unsettled = plan.conflicts?.length || plan.settled?.length;
    if (ways.length && unsettled && !chosen.firstChild) fill(chosen, settling(ways, legend, choose));
    if (first) fill(first, lead(plan));
    fill(clashes, above(plan));
    fill(place, parts(plan, how));
    act.disabled = !ready(plan);
    if (!act.disabled && !body.contains(document.activeElement)) act.focus();
  }

  function choose(value) {
    how = value;
    show();
  }

  async function confirm() {
    act.disabled = true;
    fill(problem);
    try {
      const answer = await run(plan.stamp, how);
      close();
      done(answer);
    } catch (error) {
      if (!dialog.open) return sayError(error); // it was closed in the meantime
      const changed = error.code === 'changed-since-plan';
      fill(problem, whyRefused(error, changed));
      if (changed) show();
      else act.disabled = false;
    }
  }
}

/** The ways to settle a conflict. A choice makes a new plan. */
function settling(ways, legend, choose) {
  const name = freshId('how');
  return h(
    'fieldset.ways',
    h('legend', legend),
    ways.map(([value, label, meaning]) =>
      h(
        'label.way',
        h('input', {type: 'radio', name, value, onchange: () => choose(value)}),
        h('span', label, meaning ? h('small.muted', meaning) : null),
      ),
    ),
  );
}

/** Shows the panel. It names the step that can be undone, so the project is read before. */
export async function showOutcome(title, answer, more) {
  await state.loadProject();
  showPanel({title, answer, notes: answer.notes || [], ...more});
}

/** Whether a merge writes anything, and everything in conflict is settled. */
export function isSettled(plan) {
  return !plan.conflicts.length && changes(plan) > 0;
}

export function changes(plan) {
  return plan.writtenCount + plan.deletedCount;
}
