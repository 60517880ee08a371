// The dialog in which a checkpoint, or some files of it, is restored.

import {h, fill} from './element.js';
import {icon} from './icons.js';
import {api} from './api.js';
import {wire} from './wire.js';
import {moment, oneLine, plural} from './format.js';
import {openModal} from './modal.js';
import {codePlan, planNotes} from './plan.js';
import {loadingState, notice} from './states.js';
import {say, sayError} from './toast.js';

export function openRestore(point, paths, done) {
  const what = paths.length ? plural(paths.length, 'file') : 'all files';
  const {body, foot, close, dialog} = openModal(`Restore ${what} from this checkpoint?`);
  const place = h('div.plan', {'aria-live': 'polite'});
  const problem = h('div', {role: 'alert'});
  const act = h('button.primary', {type: 'button', disabled: true, onclick: () => confirm()}, icon('rewind'), h('span', {}, 'Restore'));
  const cancel = h('button.plain', {type: 'button', onclick: () => close()}, 'Cancel');
  body.append(h('p.lead', {}, `${[oneLine(point.description, 120) || point.name, moment(point.createdAt)].filter(Boolean).join(', ')}. What the files hold now is saved in a backup first, so this can be undone.`), problem, place);
  foot.append(cancel, act);
  cancel.focus();
  let plan = null;
  load();
  return dialog;

  async function load() {
    fill(place, loadingState('Working out what will happen', 1));
    act.disabled = true;
    try {
      plan = await api.checkpointPlan(point.name, paths.length ? paths : undefined);
      fill(place, ...codePlan({...plan, code: null}), ...planNotes(plan));
      act.disabled = false;
      act.focus();
    } catch (error) {
      fill(place, notice('error', [h('strong', {}, error.message), ' ', error.hint], h('button.quiet', {type: 'button', onclick: load}, 'Try again')));
    }
  }

  async function confirm() {
    act.disabled = true;
    try {
      const answer = await wire.request('restore_checkpoint', {name: point.name, ...(paths.length ? {paths} : {}), stamp: plan.stamp});
      close();
      const remaining = answer.remainingCount ?? amount(answer.remaining);
      say(`${plural(answer.writtenCount ?? amount(answer.written), 'file')} written, ${answer.deletedCount ?? amount(answer.deleted)} deleted.`, {
        hint: [remaining ? `${plural(remaining, 'file')} could not be restored.` : '', ...(answer.notes || [])].join(' ').trim(),
        action: {label: 'Undo', run: () => wire.request('undo_restore').then(() => { say('The restore was undone.'); done(); }, sayError)}});
      done();
    } catch (error) {
      const changed = error.code === 'changed-since-plan';
      fill(problem, notice('warning', changed ? [h('strong', {}, 'Something changed since this plan was made.'), ' Nothing was done. Here is the new plan: look at it again, then confirm.'] : [h('strong', {}, error.message), ' ', error.hint]));
      if (changed) load(); else act.disabled = false;
    }
  }
}

function amount(value) {
  return Array.isArray(value) ? value.length : value ?? 0;
}
