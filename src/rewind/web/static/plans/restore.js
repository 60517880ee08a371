// The dialogs that restore files: from a checkpoint, of a hunk, by undo or by redo.

import {h} from '../core/element.js';
import {api, wire} from '../core/api.js';
import {state} from '../core/state.js';
import {moment, oneLine, plural} from '../core/format.js';
import {codePlan, planNotes} from './plan_parts.js';
import {openPlan, showOutcome} from './plan_dialog.js';
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
    parts: filesOf,
    run: stamp =>
      wire.request('restore_checkpoint', {name: point.name, ...(paths.length ? {paths} : {}), stamp}),
    done: answer => {
      showOutcome(`Restored ${what} from a checkpoint`, answer, {undo: () => openUndo(done)});
      done();
    },
  });
}

const WAYS = [
  ['markers', 'Write both, between conflict markers'],
  ['theirs', 'Take the old lines'],
];

/** Restores lines of a file. `preview()` draws them. If they have changed since, the person chooses how. */
export function openHunk({from, to, path, hunk, label}, when, preview) {
  const asked = how => ({from, to, path, how: how || undefined});
  return openPlan({
    title: `Bring back a hunk of ${path}?`,
    lead: () => `These lines become what they were ${when}. What else changed in the file stays.`,
    label: 'Bring back',
    load: how => api.hunkPlan({...asked(how), hunk}),
    ways: WAYS,
    legend: h('strong', 'These lines changed again since. Choose what to do:'),
    parts: plan => [preview(), planNotes(plan)],
    ready: plan => !plan.conflicts.length,
    run: (stamp, how) => wire.request('bring_back', {...asked(how), hunks: [hunk], label, stamp}),
    done: answer => {
      const read = () => state.loadSessions();
      showOutcome('Brought back a hunk', answer, {undo: () => openUndo(read)});
      read();
    },
  });
}

/** Undoes the last operation, after showing its plan. */
export function openUndo(done) {
  return openPlan({
    title: 'Undo the last operation?',
    lead: plan => (plan.text ? `Rewind ${plan.text}. Undo this?` : ''),
    label: 'Undo',
    load: () => api.undoPlan(),
    parts: filesOf,
    run: stamp => wire.request('undo_restore', {stamp}),
    done: answer => {
      showOutcome('Undone', answer, {redo: answer.canRedo ? () => openRedo(done) : null});
      done();
    },
  });
}

/** Redoes the last undone operation, after showing its plan. */
export function openRedo(done) {
  return openPlan({
    title: 'Redo?',
    lead: plan => (plan.text ? `This takes back: ${plan.text}.` : ''),
    label: 'Redo',
    load: () => api.redoPlan(),
    parts: filesOf,
    run: stamp => wire.request('redo', {stamp}),
    done: answer => {
      showOutcome('Redone', answer, {undo: () => openUndo(done)});
      done();
    },
  });
}

/** Undo or redo of the newest step, if there is one, by a key or a button of the bar. */
export function openStep(step) {
  const [about, open] = {
    undo: [state.project?.canUndo, openUndo],
    redo: [state.project?.canRedo, openRedo],
  }[step];
  return about
    ? open(() => state.loadSessions())
    : say(`There is nothing to ${step}.`, {kind: 'info'});
}

/** The files of a plan, without the name of the checkpoint, which is shown above. */
function filesOf(plan) {
  return [codePlan({...plan, code: null}, plan.code?.checkpoint), planNotes(plan)];
}
