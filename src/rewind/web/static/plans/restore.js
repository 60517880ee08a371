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

/** Lines of one file as they were; `preview()` draws them. Where they changed since, a person says how. */
export function openHunk({from, to, path, hunk, label}, when, preview) {
  let how = '';
  const asked = () => ({from, to, path, how: how || undefined});
  return openPlan({
    title: `Bring back a hunk of ${path}?`,
    lead: () => `These lines become what they were ${when}. What else changed in the file stays.`,
    label: 'Bring back',
    load: () => api.hunkPlan({...asked(), hunk}),
    parts: (plan, again) => [
      preview(),
      ...(plan.conflicts.length || how ? [settle(how, chosen => again((how = chosen)))] : []),
    ],
    refused: plan => plan.conflicts.length > 0,
    run: stamp => wire.request('bring_back', {...asked(), hunks: [hunk], label, stamp}),
    done: answer => {
      const read = () => state.loadSessions();
      said('Brought back a hunk', answer, {undo: () => openUndo(read)});
      read();
    },
  });
}

const SETTLED = [
  ['markers', 'Write both, between conflict markers'],
  ['theirs', 'Take the old lines'],
];

function settle(how, choose) {
  const radio = ([value, label]) =>
    h(
      'label.check',
      {},
      h('input', {type: 'radio', name: 'how', value, checked: how === value, onchange: () => choose(value)}),
      h('span', {}, label),
    );
  return h(
    'fieldset.settle',
    {},
    h('legend', {}, h('strong', {}, 'These lines changed again since. Choose what to do:')),
    SETTLED.map(radio),
  );
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

/** `parts(plan, again)`: what stands above the files; `refused(plan)`: whether it cannot be done as it is. */
function openPlan({title, lead, label, load, run, done, parts = () => [], refused = () => false}) {
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
      const above = parts(plan, show);
      const point = plan.code?.checkpoint;
      fill(place, above, above.length ? null : codePlan({...plan, code: null}, point), planNotes(plan));
      act.disabled = refused(plan);
      if (!act.disabled) act.focus();
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
