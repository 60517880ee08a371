// The dialog that adopts a fork: the plan, its conflicts, and the session that continues here.

import {h} from '../core/element.js';
import {wire} from '../core/api.js';
import {state} from '../core/state.js';
import {pathText} from '../code/diff.js';
import {codePlan, conflictNotice, planLine, planNotes} from './plan_parts.js';
import {changes, isSettled, openPlan, showOutcome} from './plan_dialog.js';
import {openUndo} from './restore.js';

const WAYS = [
  ['ours', 'Keep what is here', 'The rest of the fork comes'],
  ['theirs', 'Take what the fork has', 'The lines in conflict are replaced'],
  ['markers', 'Write conflict markers', 'Somebody has to resolve them in the file'],
];

/** `done` is called after the fork was adopted, and after an undo. */
export function openAdopt({name}, done = () => {}) {
  return openPlan({
    title: `Adopt ${name}?`,
    text:
      'What the fork changed is merged into the files as they are here, and its conversation comes as a ' +
      'new session. The fork stays. Rewind saves the current files first, so this can be undone.',
    sign: 'branch',
    label: 'Adopt fork',
    ways: WAYS,
    load: how => wire.request('plan_adopt', {name, how}),
    parts: plan => [shown(plan), planNotes(plan)],
    ready: isSettled,
    run: (stamp, how) => wire.request('adopt_lane', {name, how, stamp}),
    done: async answer => {
      const {note, resume, operation} = answer;
      const undo = operation ? () => openUndo(done) : null;
      await state.loadSessions();
      await showOutcome(`Adopted ${name}`, answer, {note, resume, undo});
      done();
    },
  });
}

function shown(plan) {
  if (plan.conflicts.length)
    return conflictNotice(plan.conflicts, 'The project changed the same lines.', one => [
      pathText(one.path),
      h('small.muted', one.text),
    ]);
  if (changes(plan)) return codePlan(plan, null);
  return planLine('check', 'The files here already contain all of it.');
}
