// The dialog in which a plan is shown and confirmed: a restore, the undo of an operation, or its redo.

import {h, fill} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {api} from '../core/api.js';
import {wire} from '../core/wire.js';
import {state} from '../core/state.js';
import {moment, oneLine, plural} from '../core/format.js';
import {openModal} from '../parts/modal.js';
import {codePlan, planNotes, whyRefused} from './plan.js';
import {loadingState, notice} from '../parts/states.js';
import {showPanel} from './panel.js';
import {say} from '../parts/toast.js';

export function openRestore(point, paths, done) {
  const what = paths.length ? plural(paths.length, 'file') : 'all files';
  const when = [oneLine(point.description, 120) || point.name, moment(point.createdAt)]
    .filter(Boolean)
    .join(', ');
  return openPlan({
    title: `Restore ${what} from this checkpoint?`,
    lead: () => `${when}. Rewind saves the current files first, so this can be undone.`,
    label: 'Restore',
    load: () => api.checkpointPlan(point.name, paths.length ? paths : undefined),
    run: stamp =>
      wire.request('restore_checkpoint', {name: point.name, ...(paths.length ? {paths} : {}), stamp}),
    done: answer => {
      said(`Restored ${what} from a checkpoint`, answer, {undo: () => openUndo(done)});
      done();
    },
  });
}

/** Undo the last operation, once its plan was seen. */
export function openUndo(done) {
  return openPlan({
    title: 'Undo the last operation?',
    lead: plan => (plan.text ? `Rewind ${plan.text}. Undo this?` : ''),
    label: 'Undo',
    load: () => api.undoPlan(),
    run: stamp => wire.request('undo_restore', {stamp}),
    done: answer => {
      said('Undone', answer, {redo: answer.canRedo ? () => openRedo(done) : null});
      done();
    },
  });
}

/** Take the last undo back, once its plan was seen. */
export function openRedo(done) {
  return openPlan({
    title: 'Redo?',
    lead: plan => (plan.text ? `This takes back: ${plan.text}.` : ''),
    label: 'Redo',
    load: () => api.redoPlan(),
    run: stamp => wire.request('redo', {stamp}),
    done: answer => {
      said('Done again', answer, {undo: () => openUndo(done)});
      done();
    },
  });
}

/** By a key or a button of the bar: the newest step, if there is one. */
export function openStep(step) {
  const about = step === 'undo' ? state.project?.canUndo : state.project?.canRedo;
  if (!about)
    return say(step === 'undo' ? 'There is nothing to undo.' : 'There is nothing to redo.', {kind: 'info'});
  const read = () => state.loadSessions();
  return step === 'undo' ? openUndo(read) : openRedo(read);
}

/** The panel names the step that can be undone, so the project is read before it is shown. */
async function said(title, answer, steps) {
  await state.loadProject();
  showPanel({title, answer, notes: answer.notes || [], ...steps});
}

function openPlan({title, lead, label, load, run, done}) {
  const {body, foot, close, dialog} = openModal(title);
  const about = h('p.lead', {}, lead({}));
  const place = h('div.plan', {'aria-live': 'polite'});
  const problem = h('div', {role: 'alert'});
  const act = h(
    'button.primary',
    {type: 'button', disabled: true, onclick: () => confirm()},
    icon('rewind'),
    h('span', {}, label),
  );
  const cancel = h('button.plain', {type: 'button', onclick: () => close()}, 'Cancel');
  body.append(about, problem, place);
  foot.append(cancel, act);
  cancel.focus();
  let plan = null;
  show();
  return dialog;

  async function show() {
    fill(place, loadingState('Working out what will happen', 1));
    act.disabled = true;
    try {
      plan = await load();
      fill(about, lead(plan));
      fill(place, ...codePlan({...plan, code: null}, plan.code?.checkpoint), ...planNotes(plan));
      act.disabled = false;
      act.focus();
    } catch (error) {
      fill(
        place,
        notice(
          'error',
          [h('strong', {}, error.message), ' ', error.hint],
          h('button.quiet', {type: 'button', onclick: show}, 'Try again'),
        ),
      );
    }
  }

  async function confirm() {
    act.disabled = true;
    try {
      const answer = await run(plan.stamp);
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
