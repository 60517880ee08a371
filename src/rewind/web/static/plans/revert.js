// Taking back one turn and nothing else: the plan, conflicts with their lines, and the note for the agent.

import {h, fill, freshId} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {api} from '../core/api.js';
import {wire} from '../core/wire.js';
import {state} from '../core/state.js';
import {oneLine, plural} from '../core/format.js';
import {openModal} from '../parts/modal.js';
import {errorState, loadingState, notice} from '../parts/states.js';
import {pathText, whyNoLines} from '../code/diff.js';
import {linesView} from '../code/lines.js';
import {authorWords} from '../files/blame.js';
import {codePlan, planNotes, whyRefused} from './plan.js';
import {openUndo} from './restore.js';
import {showPanel} from './panel.js';

const WAYS = [
  ['ours', 'Keep what is there now', 'The rest of the turn is taken back'],
  ['theirs', 'Take what was there before the turn', 'The later lines in conflict are replaced'],
  ['markers', 'Write conflict markers', 'Somebody has to resolve them in the file'],
];
const SETTLED = {ours: 'kept as it is now', theirs: 'as before the turn', markers: 'gets conflict markers'};

/** `done` is called once it is done. */
export function openRevert(session, turn, done = () => {}) {
  const {body, foot, close, dialog} = openModal(`Take back only turn ${turn.turn}?`);
  const place = h('div.plan', {'aria-live': 'polite'});
  const problem = h('div', {role: 'alert'});
  const ways = h('div');
  const clashes = h('div', {'aria-live': 'polite'});
  const act = h(
    'button.primary',
    {type: 'button', disabled: true, onclick: () => confirm()},
    icon('undo'),
    h('span', {}, 'Take it back'),
  );
  const cancel = h('button.plain', {type: 'button', onclick: () => close()}, 'Cancel');
  body.append(
    h('p.lead', {}, h('q', {}, oneLine(turn.prompt, 120))),
    h(
      'p.muted',
      {},
      'What this turn changed is removed from the files as they are now. Everything later stays, and so ',
      'does the conversation. Rewind saves the current files first, so this can be undone.',
    ),
    problem,
    clashes,
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
      plan = await api.revertPlan(session.sessionId, turn.turn, how);
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
    fill(clashes, open ? conflicts(plan, session) : null);
    fill(
      place,
      plan.settled.length ? settled(plan) : null,
      changes ? codePlan(plan, path => openLines(session, turn, how, path)) : null,
      !changes && !open ? nothing(plan) : null,
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
      const {stamp} = plan;
      const answer = await wire.request('revert_turn', {
        sessionId: session.sessionId,
        turn: turn.turn,
        stamp,
        ...(how ? {how} : {}),
      });
      close();
      await state.loadProject();
      const undo = answer.operation ? () => openUndo(done) : null;
      showPanel({title: `Took back turn ${turn.turn}`, answer, notes: answer.notes, note: answer.note, undo});
      done();
    } catch (error) {
      const changed = error.code === 'changed-since-plan';
      fill(problem, whyRefused(error, changed));
      if (changed) show();
      else act.disabled = false;
    }
  }
}

function nothing(plan) {
  const why = plan.settled.length
    ? 'Nothing is left to take back: what is in conflict stays as it is.'
    : 'There is nothing to take back: the files are as they would be without this turn.';
  return h('p.plan-line', {}, icon('check'), h('span', {}, why));
}

function conflicts(plan, session) {
  const own = run => run.sessionId === session.sessionId && run.turn === plan.turn;
  const n = plan.conflicts.length;
  return notice('warning', [
    h('strong', {}, `${plural(n, 'file is', 'files are')} in conflict, so nothing is written yet. `),
    'Something else has changed the same lines since. Choose what to do, or cancel.',
    h(
      'ul.clashes',
      {},
      plan.conflicts.map(one => clash(one, own)),
    ),
  ]);
}

/** `own` tells what the turn itself wrote: that is no reason for the conflict. */
function clash(one, own) {
  return h(
    'li',
    {},
    pathText(one.path),
    one.places.length ? null : h('small.muted', {}, one.text),
    one.places.map(place =>
      h(
        'div.clash',
        {},
        h('p.small', {}, lineWords(place), writers((place.by || []).filter(run => !own(run)))),
        place.lines?.length
          ? h('pre', {tabindex: '0', 'aria-label': lineWords(place)}, place.lines.join('\n'))
          : null,
      ),
    ),
  );
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
  return h(
    'ul.paths.settled',
    {},
    plan.settled.map(one =>
      h('li', {}, pathText(one.path), h('small', {}, `conflict: ${SETTLED[plan.how]}`)),
    ),
  );
}

/** One file of the plan, from how it is now to how it would be. */
async function openLines(session, turn, how, path) {
  const {body, foot, close} = openModal(path, {wide: true, kind: 'diff-dialog'});
  const place = h('div', {}, loadingState('Reading the difference', 2));
  body.append(h('p.muted.diff-ends', {}, `The file now → without turn ${turn.turn}`), place);
  foot.append(h('button.plain', {type: 'button', onclick: () => close()}, 'Close'));
  try {
    const found = await api.revertFile(session.sessionId, turn.turn, how, path);
    const label = `Changes to ${path}`;
    fill(
      place,
      found.rows.length ? linesView(found.rows, {label}) : h('p.muted.pad', {}, whyNoLines(found.verdict)),
    );
  } catch (error) {
    fill(place, errorState(error));
  }
}

/** Why a turn has nothing to take back, or null. */
export function whyNotRevert(turn) {
  if (!turn.changes) return 'No checkpoint tells what this turn changed.';
  return turn.changes.files.length ? null : 'This turn changed no files.';
}
