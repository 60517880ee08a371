// The dialog that takes back only one turn: the plan, conflicts with their lines, and a note for the agent.

import {h, listOf} from '../core/element.js';
import {api, wire} from '../core/api.js';
import {oneLine} from '../core/format.js';
import {openLines, pathText} from '../code/diff.js';
import {authorWords} from '../files/blame.js';
import {codePlan, conflictNotice, planLine, planNotes} from './plan_parts.js';
import {changes, isSettled, openPlan, showOutcome} from './plan_dialog.js';
import {openUndo} from './restore.js';

const WAYS = [
  ['ours', 'Keep what is there now', 'The rest of the turn is taken back'],
  ['theirs', 'Take what was there before the turn', 'The later lines in conflict are replaced'],
  ['markers', 'Write conflict markers', 'Somebody has to resolve them in the file'],
];
const SETTLED = {ours: 'kept as it is now', theirs: 'as before the turn', markers: 'gets conflict markers'};

/** `done` is called after the turn was taken back, and after an undo. */
export function openRevert(session, turn, done = () => {}) {
  const {sessionId} = session;
  const show = (path, how) =>
    openLines(path, `The file now → without turn ${turn.turn}`, () =>
      api.revertFile(sessionId, turn.turn, how, path),
    );
  return openPlan({
    title: `Take back only turn ${turn.turn}?`,
    lead: () => h('q', oneLine(turn.prompt, 120)),
    text:
      'What this turn changed is removed from the files as they are now. Everything later stays, and so ' +
      'does the conversation. Rewind saves the current files first, so this can be undone.',
    sign: 'undo',
    label: 'Take it back',
    ways: WAYS,
    load: how => api.revertPlan(sessionId, turn.turn, how),
    above: plan => (plan.conflicts.length ? conflicts(plan, session) : null),
    parts: (plan, how) => [
      plan.settled.length ? settled(plan) : null,
      changes(plan) ? codePlan(plan, path => show(path, how)) : null,
      !changes(plan) && !plan.conflicts.length ? nothing(plan) : null,
      planNotes(plan),
    ],
    ready: isSettled,
    run: (stamp, how) =>
      wire.request('revert_turn', {sessionId, turn: turn.turn, stamp, ...(how ? {how} : {})}),
    done: async answer => {
      const undo = answer.operation ? () => openUndo(done) : null;
      await showOutcome(`Took back turn ${turn.turn}`, answer, {note: answer.note, undo});
      done();
    },
  });
}

function nothing(plan) {
  const why = plan.settled.length
    ? 'Nothing is left to take back: what is in conflict stays as it is.'
    : 'There is nothing to take back: the files are as they would be without this turn.';
  return planLine('check', why);
}

function conflicts(plan, session) {
  const own = run => run.sessionId === session.sessionId && run.turn === plan.turn;
  return conflictNotice(plan.conflicts, 'Something else has changed the same lines since.', one =>
    clash(one, own),
  );
}

/** `own(run)` says whether the turn itself wrote the lines. These are no reason for the conflict. */
function clash(one, own) {
  return [
    pathText(one.path),
    one.places.length ? null : h('small.muted', one.text),
    one.places.map(place =>
      h(
        'div.clash',
        h('p.small', lineWords(place), writers((place.by || []).filter(run => !own(run)))),
        place.lines?.length
          ? h('pre', {tabindex: '0', 'aria-label': lineWords(place)}, place.lines.join('\n'))
          : null,
      ),
    ),
  ];
}

function writers(runs) {
  const names = runs
    .map(run => authorWords(run))
    .map(({name, text}) => (text ? `${name} (${oneLine(text, 60)})` : name));
  return names.length ? `, written by ${names.join(', ')}` : '';
}

function lineWords({from, count}) {
  if (!count) return `before line ${from}`;
  return count === 1 ? `line ${from}` : `lines ${from} to ${from + count - 1}`;
}

function settled(plan) {
  const how = `conflict: ${SETTLED[plan.how]}`;
  return listOf('ul.paths.settled', plan.settled, one => [pathText(one.path), h('small', how)]);
}

/** Why a turn has nothing to take back, or null. */
export function whyNotRevert(turn) {
  if (!turn.changes) return 'No checkpoint tells what this turn changed.';
  return turn.changes.files.length ? null : 'This turn changed no files.';
}
