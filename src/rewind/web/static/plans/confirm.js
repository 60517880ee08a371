// The dialog in which a plan is shown and confirmed; of a plan with conflicts, a person says how to settle them.

import {h, fill, freshId} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {state} from '../core/state.js';
import {openModal} from '../parts/modal.js';
import {errorNotice, loadingState} from '../parts/states.js';
import {whyRefused} from './plan.js';
import {showPanel} from './panel.js';

/**
 * `lead(plan)` and `text`: what stands on top; `load(how)`: makes the plan; `parts(plan, how, choose)`: draws
 * it; `above(plan)`: what comes before the choice; `ready(plan)`: whether it can be carried out as it is;
 * `ways`: [value, label, meaning] of each way to settle a conflict; `run(stamp, how)`, then `done(answer)`.
 */
export function openPlan({
  title,
  lead = null,
  text = null,
  sign = 'rewind',
  label,
  ways = [],
  load,
  above = () => null,
  parts,
  ready = () => true,
  run,
  done,
}) {
  const {body, foot, cancel, close, dialog} = openModal(title);
  const first = lead && h('p.lead', {}, lead({}));
  const problem = h('div', {role: 'alert'});
  const clashes = h('div', {'aria-live': 'polite'});
  const choice = h('div');
  const place = h('div.plan', {'aria-live': 'polite'});
  const act = h(
    'button.primary',
    {type: 'button', disabled: true, onclick: () => confirm()},
    icon(sign),
    h('span', {}, label),
  );
  fill(body, first, text && h('p.muted', {}, text), problem, clashes, choice, place);
  foot.append(act);
  cancel.focus();
  let plan = null;
  let how = '';
  show();
  return dialog;

  async function show() {
    act.disabled = true;
    if (!plan) fill(place, loadingState('Working out what will happen', 1));
    const wanted = how;
    try {
      const found = await load(wanted);
      if (wanted !== how) return; // chosen otherwise meanwhile
      plan = found;
      draw();
    } catch (error) {
      plan = null;
      fill(place, errorNotice(error, show));
    }
  }

  function draw() {
    const unsettled = plan.conflicts?.length || plan.settled?.length;
    if (ways.length && unsettled && !choice.firstChild) fill(choice, settling(ways, choose));
    if (first) fill(first, lead(plan));
    fill(clashes, above(plan));
    fill(place, parts(plan, how, choose));
    act.disabled = !ready(plan);
    if (!act.disabled && !choice.contains(document.activeElement)) act.focus();
  }

  function choose(value) {
    how = value;
    show();
  }

  async function confirm() {
    act.disabled = true;
    try {
      const answer = await run(plan.stamp, how);
      close();
      done(answer);
    } catch (error) {
      const changed = error.code === 'changed-since-plan';
      fill(problem, whyRefused(error, changed));
      if (changed) show();
      else act.disabled = false;
    }
  }
}

/** Shown once there is a conflict; the plan is made anew for what is chosen. */
function settling(ways, choose) {
  const name = freshId('how');
  return h(
    'fieldset.ways',
    {},
    h('legend', {}, 'In a conflict'),
    ways.map(([value, label, meaning]) =>
      h(
        'label.way',
        {},
        h('input', {type: 'radio', name, value, onchange: () => choose(value)}),
        h('span', {}, label, h('small.muted', {}, meaning)),
      ),
    ),
  );
}

/** The panel names the step that can be undone, so the project is read before it is shown. */
export async function said(title, answer, more) {
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
