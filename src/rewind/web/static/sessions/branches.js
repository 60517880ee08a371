// Actions on a branch: rename, promote, delete, undelete, fast-forward.

import {h, fill, freshId, listOf} from '../core/element.js';
import {api, wire} from '../core/api.js';
import {state} from '../core/state.js';
import {go, to} from '../core/route.js';
import {plural, sessionTitle} from '../core/format.js';
import {codePlan, planNotes} from '../plans/plan_parts.js';
import {errorNotice} from '../parts/states.js';
import {askName, confirm, openModal} from '../parts/modal.js';
import {say, sayError} from '../parts/toast.js';

const NOT_OURS = 'Rewind did not make this session, so it leaves it alone.';
const ONE_TO_TRASH = "It goes to Rewind's trash, and you can undo this. The session it came from stays.";
const MANY_TO_TRASH = "They go to Rewind's trash, and you can undo this. The sessions they came from stay.";

export function branchActions(session) {
  const reason = session.madeByRewind ? null : NOT_OURS;
  return [
    {label: 'Rename…', reason, run: () => rename(session)},
    {
      label: 'Promote',
      reason: reason || (session.promoted ? 'This branch is already promoted.' : null),
      run: () => promote(session),
    },
    null,
    {label: 'Delete…', danger: true, reason, run: () => deleteBranches([session.sessionId])},
  ];
}

async function rename(session) {
  const name = await askName('Rename branch', 'Name', sessionTitle(session), 'Rename');
  if (!name) return;
  await act('rename_branch', {sessionId: session.sessionId, name}, answer => {
    state.update(answer.session);
    say(`Renamed to “${name}”.`);
  });
}

async function promote(session) {
  const sure = await confirm(
    'Promote this branch?',
    [h('p', `“${sessionTitle(session)}” becomes the main line of this conversation. Nothing is deleted.`)],
    'Promote',
  );
  if (!sure) return;
  await act('promote_branch', {sessionId: session.sessionId}, answer => {
    state.update(answer.session);
    say(`“${sessionTitle(answer.session)}” is the main line now.`);
  });
}

export async function deleteBranches(ids) {
  const sessions = ids.map(id => state.get(id)).filter(Boolean);
  if (!sessions.length) return false;
  const what = sessions.length === 1 ? 'this branch' : plural(sessions.length, 'branch', 'branches');
  const sure = await confirm(
    `Delete ${what}?`,
    [
      listOf('ul.plain-list', sessions.slice(0, 12), sessionTitle),
      sessions.length > 12 ? h('p', `and ${sessions.length - 12} more`) : '',
      h('p.muted', sessions.length === 1 ? ONE_TO_TRASH : MANY_TO_TRASH),
    ].filter(Boolean),
    `Delete ${sessions.length === 1 ? 'branch' : plural(sessions.length, 'branch', 'branches')}`,
    'danger',
  );
  if (!sure) return false;
  ids.forEach(id => state.beingDeleted.add(id));
  const done = await act('delete_branches', {sessionIds: ids}, answer =>
    deleted(answer.sessionIds, sessions),
  );
  ids.forEach(id => state.beingDeleted.delete(id));
  return done;
}

function deleted(ids, sessions) {
  const parent = sessions.map(s => s.parentSessionId).find(p => p && !ids.includes(p) && state.get(p));
  const shown = decodeURIComponent(location.hash);
  state.forget(ids);
  state.loadSessions();
  if (ids.some(id => shown.includes(id))) go(parent ? to.session(parent) : to.home());
  say(`${plural(ids.length, 'branch', 'branches')} deleted.`, {
    action: {label: 'Undo', run: () => undelete(ids)},
  });
}

export async function undelete(ids) {
  for (const sessionId of ids) {
    const done = await act('undelete_branch', {sessionId}, answer => state.update(answer.session));
    if (!done) return;
  }
  state.loadSessions();
  say(`${plural(ids.length, 'branch is', 'branches are')} back.`);
}

export async function fastForward(session) {
  const parent = state.parentOf(session);
  const wanted = await askForward(session, parent);
  if (!wanted) return;
  const {code, stamp} = wanted;
  await act('fast_forward', {sessionId: session.sessionId, code, ...(code ? {stamp} : {})}, answer => {
    if (answer.code) state.loadSessions();
    go(to.session(answer.sessionId));
    say(answer.code ? 'Back at the parent, with its code.' : 'Back at the parent.', {
      hint: (answer.notes || []).join(' '),
    });
  });
}

/**
 * Resolves with {code, stamp}: whether to restore the code, by the plan that was shown. null if cancelled.
 */
function askForward(session, parent) {
  const {body, foot, close, closed} = openModal('Fast-forward to the parent?');
  const box = h('input', {id: freshId('code'), type: 'checkbox', checked: true, onchange: () => look()});
  const place = h('div.plan', {'aria-live': 'polite'});
  let plan = null;
  const name = parent ? sessionTitle(parent) : 'the parent';
  body.append(h('p', `You return to “${name}” with all its turns. This branch stays.`));
  if (session.codeRestored) body.append(codeChoice(box), place);
  const forward = () => close({code: Boolean(plan) && box.checked, stamp: plan?.stamp});
  const go = h('button.primary', {onclick: forward}, 'Fast-forward');
  foot.append(go);
  go.focus();
  if (session.codeRestored) look();
  return closed;

  /** Shows the plan for the code, because only a plan that was shown is applied. */
  async function look() {
    place.hidden = !box.checked;
    if (plan || !box.checked) return;
    go.disabled = true;
    try {
      plan = await api.forwardPlan(session.sessionId);
      fill(place, codePlan({...plan, code: null}, plan.code?.checkpoint), planNotes(plan));
    } catch (error) {
      fill(place, errorNotice(error));
    }
    go.disabled = false;
    go.focus();
  }
}

const FORWARD_CODE =
  'The files become what they were before this branch was made. What they hold now is saved first.';

function codeChoice(box) {
  const words = h('span', h('strong', 'Bring the code back too'), h('small', FORWARD_CODE));
  return h('label.check', {for: box.id}, box, words);
}

export async function act(event, fields, done) {
  try {
    done(await wire.request(event, fields));
    return true;
  } catch (error) {
    sayError(error);
    return false;
  }
}
