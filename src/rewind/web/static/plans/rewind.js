// The dialog that rewinds a session: what to bring back, the plan, and the branch's name.

import {h, freshId} from '../core/element.js';
import {api, wire} from '../core/api.js';
import {state} from '../core/state.js';
import {go, to} from '../core/route.js';
import {plural} from '../core/format.js';
import {codePlan, planLine, planNotes} from './plan_parts.js';
import {openPlan, showOutcome} from './plan_dialog.js';
import {openUndo} from './restore.js';

const NO_CODE = 'No checkpoint was saved at this turn, so only the conversation can go back.';

/** Rewinds to before a turn, or to after it. `mode` is chosen at first. */
export function openRewind(session, turn, {after = false, mode = 'chat'} = {}) {
  const {sessionId} = session;
  const keeps = after ? turn.turn : turn.turn - 1;
  const where = `${after ? 'after' : 'before'} turn ${turn.turn}`;
  const noCode = turn.checkpoint || (!after && turn.changes?.from) ? null : NO_CODE;
  const first = mode === 'both' && noCode ? 'chat' : mode;
  const usual = `Branch from turn ${keeps}`;
  const name = h('input', {
    id: freshId('name'),
    type: 'text',
    value: usual,
    maxlength: 200,
    autocomplete: 'off',
  });
  let prompt = '';
  return openPlan({
    title: `Rewind to ${where}?`,
    kind: 'rewind-dialog',
    lead: () => `This creates a new branch from turn ${keeps}. Your current session will remain unchanged.`,
    label: 'Create Branch',
    how: first,
    choice: choose => modes(first, noCode, where, choose),
    load: chosen => api.plan(sessionId, keeps, chosen),
    parts: plan => {
      prompt = plan.prompt;
      return [talk(plan), plan.mode === 'both' ? codePlan(plan) : null, planNotes(plan)];
    },
    below: [h('label.field', {for: name.id}, 'Branch name'), name],
    run: (stamp, chosen) =>
      wire.request('rewind_session', {
        sessionId,
        rewindToTurn: keeps,
        mode: chosen,
        name: name.value.trim() || usual,
        stamp,
      }),
    done: answer => {
      const made = answer.session;
      state.update(made);
      state.loadSessions();
      go(to.session(made.sessionId));
      const undo = () => openUndo(() => state.loadSessions());
      showOutcome(`Rewound to ${where}`, answer, {answer: answer.code, resume: made.resume, prompt, undo});
    },
  });
}

function modes(first, noCode, where, choose) {
  const both = noCode || `The files go back too, to how they were ${where}.`;
  return h(
    'fieldset.modes',
    h('legend', 'Bring back'),
    way('chat', 'Conversation', 'The conversation goes back. Files stay as they are.', null),
    way('both', 'Code + conversation', both, noCode),
  );

  function way(value, label, text, reason) {
    const id = freshId('mode');
    const about = {'aria-describedby': `${id}-text`, onchange: () => choose(value)};
    const chosen = {value, checked: value === first, disabled: !!reason};
    return h(
      `label.mode${reason ? '.off' : ''}`,
      {for: id, title: reason},
      h('input', {id, type: 'radio', name: 'mode', ...chosen, ...about}),
      h('span.mode-text', h('strong', label), h('small', {id: `${id}-text`}, text)),
    );
  }
}

function talk({keeps, drops}) {
  const later = drops
    ? `${plural(drops, 'later turn stays', 'later turns stay')} in the current session`
    : 'nothing is left behind';
  return planLine('branch', `The branch keeps ${plural(keeps, 'turn')}; ${later}.`);
}
