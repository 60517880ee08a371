// Bringing a fork home: the plan, its conflicts, and the session that goes on here.

import {h, fill, freshId} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {wire} from '../core/wire.js';
import {state} from '../core/state.js';
import {plural} from '../core/format.js';
import {openModal} from '../parts/modal.js';
import {loadingState, notice} from '../parts/states.js';
import {pathText} from '../code/diff.js';
import {codePlan, planNotes, whyRefused} from './plan.js';
import {openUndo} from './restore.js';
import {showPanel} from './panel.js';

const WAYS = [
  ['ours', 'Keep what is here', 'The rest of the fork comes'],
  ['theirs', 'Take what the fork has', 'The lines in conflict are replaced'],
  ['markers', 'Write conflict markers', 'Somebody has to resolve them in the file'],
];

/** `done` is called once it is done, or undone. */
export function openAdopt(lane, done = () => {}) {
  const {body, foot, close, dialog} = openModal(`Adopt ${lane.name}?`);
  const place = h('div.plan', {'aria-live': 'polite'});
  const problem = h('div', {role: 'alert'});
  const ways = h('div');
  const act = h(
    'button.primary',
    {type: 'button', disabled: true, onclick: () => confirm()},
    icon('branch'),
    h('span', {}, 'Adopt fork'),
  );
  const cancel = h('button.plain', {type: 'button', onclick: () => close()}, 'Cancel');
  body.append(
    h(
      'p.muted',
      {},
      'What the fork changed is merged into the files as they are here, and its conversation comes as a new ',
      'session. The fork stays. Rewind saves the current files first, so this can be undone.',
    ),
    problem,
    ways,
    place,
  );
  foot.append(cancel, act);
  cancel.focus();
  let plan = null;
  let how = '';
  show();
  return dialog;

  async function show() {
    act.disabled = true;
    if (!plan) fill(place, loadingState('Working out what will happen', 1));
    try {
      plan = await wire.request('plan_adopt', {name: lane.name, how});
    } catch (error) {
      fill(place, notice('error', [h('strong', {}, error.message), ' ', error.hint]));
      return;
    }
    draw();
  }

  function draw() {
    const changes = plan.writtenCount + plan.deletedCount;
    const open = plan.conflicts.length;
    if ((open || plan.settled.length) && !ways.firstChild) fill(ways, choice());
    fill(
      place,
      open ? conflicts(plan.conflicts) : null,
      changes && !open ? codePlan(plan, null) : null,
      !changes && !open
        ? h('p.plan-line', {}, icon('check'), h('span', {}, 'The files here already contain all of it.'))
        : null,
      planNotes(plan),
    );
    act.disabled = Boolean(open) || !changes;
    if (!act.disabled && !ways.contains(document.activeElement)) act.focus();
  }

  /** Chosen once there is a conflict; the plan is made anew for it. */
  function choice() {
    const name = freshId('how');
    return h(
      'fieldset.ways',
      {},
      h('legend', {}, 'In a conflict'),
      WAYS.map(([value, label, more]) =>
        h(
          'label.way',
          {},
          h('input', {
            type: 'radio',
            name,
            value,
            onchange: () => {
              how = value;
              show();
            },
          }),
          h('span', {}, label, h('small.muted', {}, more)),
        ),
      ),
    );
  }

  async function confirm() {
    act.disabled = true;
    try {
      const answer = await wire.request('adopt_lane', {name: lane.name, how, stamp: plan.stamp});
      close();
      await Promise.all([state.loadProject(), state.loadSessions()]);
      const undo = answer.operation ? () => openUndo(done) : null;
      showPanel({
        title: `Adopted ${lane.name}`,
        answer,
        notes: answer.notes,
        note: answer.note,
        resume: answer.resume,
        undo,
      });
      done();
    } catch (error) {
      const changed = error.code === 'changed-since-plan';
      fill(problem, whyRefused(error, changed));
      if (changed) show();
      else act.disabled = false;
    }
  }
}

function conflicts(found) {
  return notice('warning', [
    h(
      'strong',
      {},
      `${plural(found.length, 'file is', 'files are')} in conflict, so nothing is written yet. `,
    ),
    'The project changed the same lines. Choose what to do, or cancel.',
    h(
      'ul.clashes',
      {},
      found.map(one => h('li', {}, pathText(one.path), h('small.muted', {}, one.text))),
    ),
  ]);
}
