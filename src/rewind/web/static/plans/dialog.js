// The dialog in which a session is rewound: what to bring back, what that does, and the branch's name.

import {h, fill, freshId} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {api} from '../core/api.js';
import {wire} from '../core/wire.js';
import {state} from '../core/state.js';
import {go, to} from '../core/route.js';
import {plural} from '../core/format.js';
import {openModal} from '../parts/modal.js';
import {codePlan, planNotes, whyRefused} from './plan.js';
import {errorNotice, loadingState} from '../parts/states.js';
import {showPanel} from './panel.js';
import {openUndo} from './restore.js';

const NO_CODE = 'No checkpoint was saved at this turn, so only the conversation can go back.';

/** To before a turn, or to after it; `mode` is what is brought back unless the person chooses otherwise. */
export function openRewind(session, turn, {after = false, mode = 'chat'} = {}) {
  return new RewindDialog(session, turn, after, mode).modal.closed;
}

class RewindDialog {
  constructor(session, turn, after, mode) {
    this.session = session;
    this.turn = turn;
    this.after = after;
    this.keeps = after ? turn.turn : turn.turn - 1;
    this.where = `${after ? 'after' : 'before'} turn ${turn.turn}`;
    this.mode = mode === 'both' && this.noCode() ? 'chat' : mode;
    this.plan = null;
    this.modal = openModal(`Rewind to ${this.where}?`, {kind: 'rewind-dialog'});
    this.build();
    this.load();
  }

  /** Why the files cannot go back, or null. */
  noCode() {
    const known = this.turn.checkpoint || (!this.after && this.turn.changes?.from);
    return known ? null : NO_CODE;
  }

  build() {
    const n = this.keeps;
    const id = freshId('name');
    this.name = h('input', {
      id,
      type: 'text',
      value: `Branch from turn ${n}`,
      maxlength: 200,
      autocomplete: 'off',
      onkeydown: e => this.onEnter(e),
    });
    this.what = h('div.plan', {'aria-live': 'polite'});
    this.problem = h('div', {role: 'alert'});
    this.create = h(
      'button.primary',
      {type: 'button', onclick: () => this.confirm()},
      icon('rewind'),
      h('span', {}, 'Create Branch'),
    );
    this.modal.body.append(
      h(
        'p.lead',
        {},
        `This creates a new branch from turn ${n}. Your current session will remain unchanged.`,
      ),
      this.problem,
      this.modes(),
      this.what,
      h('label.field', {for: id}, 'Branch name'),
      this.name,
    );
    this.modal.foot.append(this.create);
    this.modal.dialog.querySelector('input[type=radio]:checked').focus();
  }

  modes() {
    const none = this.noCode();
    return h(
      'fieldset.modes',
      {},
      h('legend', {}, 'Bring back'),
      this.choice('chat', 'Chat', 'The conversation goes back. Files stay as they are.', null),
      this.choice(
        'both',
        'Code + chat',
        none || `The files go back too, to how they were ${this.where}.`,
        none,
      ),
    );
  }

  choice(mode, label, text, reason) {
    const id = freshId('mode');
    return h(
      `label.mode${reason ? '.off' : ''}`,
      {for: id, title: reason},
      h('input', {
        id,
        type: 'radio',
        name: 'mode',
        value: mode,
        checked: mode === this.mode,
        disabled: !!reason,
        'aria-describedby': `${id}-text`,
        onchange: () => {
          this.mode = mode;
          this.load();
        },
      }),
      h('span.mode-text', {}, h('strong', {}, label), h('small', {id: `${id}-text`}, text)),
    );
  }

  onEnter(event) {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    this.confirm();
  }

  async load() {
    const mode = this.mode;
    this.plan = null;
    this.ready(false);
    fill(this.what, loadingState('Working out what will happen', 1));
    try {
      const plan = await api.plan(this.session.sessionId, this.keeps, mode);
      if (mode !== this.mode) return;
      this.plan = plan;
      fill(this.what, ...this.planParts(plan));
      this.ready(true);
    } catch (error) {
      if (mode === this.mode) this.failed(error);
    }
  }

  planParts(plan) {
    const talk = h(
      'p.plan-line',
      {},
      icon('branch'),
      h('span', {}, `The branch keeps ${plural(plan.keeps, 'turn')}; ${leftBehind(plan.drops)}.`),
    );
    return [talk, ...(plan.mode === 'both' ? codePlan(plan) : []), ...planNotes(plan)];
  }

  failed(error) {
    fill(this.what, errorNotice(error, () => this.load()));
  }

  ready(on) {
    this.create.disabled = !on;
    this.create.classList.toggle('working', false);
  }

  async confirm() {
    if (!this.plan || this.create.disabled) return;
    this.ready(false);
    this.create.classList.add('working');
    fill(this.problem);
    try {
      const answer = await wire.request('rewind_session', {
        sessionId: this.session.sessionId,
        rewindToTurn: this.keeps,
        mode: this.mode,
        name: this.name.value.trim() || `Branch from turn ${this.keeps}`,
        stamp: this.plan.stamp,
      });
      this.done(answer);
    } catch (error) {
      this.refused(error);
    }
  }

  done({session, code, notes}) {
    state.update(session);
    state.loadSessions();
    this.modal.close(session);
    go(to.session(session.sessionId));
    state
      .loadProject()
      .then(() =>
        showPanel({
          title: `Rewound to ${this.where}`,
          answer: code,
          resume: session.resume,
          prompt: this.plan.prompt,
          notes,
          undo: () => openUndo(() => state.loadSessions()),
        }),
      );
  }

  refused(error) {
    const changed = error.code === 'changed-since-plan';
    fill(this.problem, whyRefused(error, changed));
    this.create.classList.remove('working');
    if (changed) this.load();
    else this.ready(true);
  }
}

function leftBehind(turns) {
  if (!turns) return 'nothing is left behind';
  return `${plural(turns, 'later turn stays', 'later turns stay')} in the current session`;
}
