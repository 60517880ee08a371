// What is confirmed before files go back: a restore, a hunk, the undo of an operation, or its redo.

import {h} from '../core/element.js';
import {api, wire} from '../core/api.js';
import {state} from '../core/state.js';
import {moment, oneLine, plural} from '../core/format.js';
import {codePlan, planNotes} from './plan_parts.js';
import {openPlan, said} from './plan_dialog.js';
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
      said(`Restored ${what} from a checkpoint`, answer, {undo: () => openUndo(done)});
      done();
    },
  });
}

const WAYS = [
  ['markers', 'Write both, between conflict markers'],
  ['theirs', 'Take the old lines'],
];

/** Lines of one file as they were; `preview()` draws them. If they changed since, the person chooses how. */
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
      said('Brought back a hunk', answer, {undo: () => openUndo(read)});
      read();
    },
  });
}

/** Undo the last operation, after its plan was shown. */
export function openUndo(done) {
  return openPlan({
    title: 'Undo the last operation?',
    lead: plan => (plan.text ? `Rewind ${plan.text}. Undo this?` : ''),
    label: 'Undo',
    load: () => api.undoPlan(),
    parts: filesOf,
    run: stamp => wire.request('undo_restore', {stamp}),
    done: answer => {
      said('Undone', answer, {redo: answer.canRedo ? () => openRedo(done) : null});
      done();
    },
  });
}

/** Take back the last undo, after its plan was shown. */
export function openRedo(done) {
  return openPlan({
    title: 'Redo?',
    lead: plan => (plan.text ? `This takes back: ${plan.text}.` : ''),
    label: 'Redo',
    load: () => api.redoPlan(),
    parts: filesOf,
    run: stamp => wire.request('redo', {stamp}),
    done: answer => {
      said('Done again', answer, {undo: () => openUndo(done)});
      done();
    },
  });
}

/** By a key or a button of the bar: undo or redo the newest step, if there is one. */
export function openStep(step) {
  const [about, open] = {
    undo: [state.project?.canUndo, openUndo],
    redo: [state.project?.canRedo, openRedo],
  }[step];
  return about
    ? open(() => state.loadSessions())
    : say(`There is nothing to ${step}.`, {kind: 'info'});
}

/** The checkpoint is named above; its files can be looked at. */
function filesOf(plan) {
  return [codePlan({...plan, code: null}, plan.code?.checkpoint), planNotes(plan)];
}
