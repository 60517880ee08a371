// What an action did, until it is closed or the next one is done: the files, the way back, how to go on.

import {h, fill} from '../core/element.js';
import {state} from '../core/state.js';
import {icon} from '../parts/icons.js';
import {copyButton, copyText} from '../parts/copy.js';
import {command} from '../parts/states.js';
import {announce, say} from '../parts/toast.js';
import {number, oneLine, plural} from '../core/format.js';
import {pathText} from '../code/diff.js';

const NAMED = 100;
const host = document.getElementById('panel');
let shown = null;

/**
 * `title`: what was done; `answer`: what the server said of files; `resume`: the command to go on with;
 * `prompt`: what was asked and is taken back; `note`: what to tell the agent; `undo`, `redo`: {run} where
 * there is such a way.
 */
export function showPanel({
  title,
  answer = null,
  resume = '',
  prompt = '',
  note = '',
  notes = [],
  undo = null,
  redo = null,
}) {
  shown = {resume};
  const files = answer ? fileWords(answer) : '';
  fill(
    host,
    h(
      'div.panel-head',
      icon('check'),
      h('h2', title),
      h('button.icon-button', {'aria-label': 'Close this panel', onclick: closePanel}, icon('close')),
    ),
    h(
      'div.panel-body',
      files ? h('p.panel-files', files) : null,
      ...(answer ? lists(answer) : []),
      notes.map(note => h('p.muted', note)),
      resume ? h('div.panel-part', h('span.label', 'Go on with', h('kbd', 'y')), command(resume)) : null,
      prompt ? copyPart('The prompt that was taken back', prompt, 'Copy the prompt') : null,
      note ? copyPart('The agent does not know about this. To tell it, paste', note, 'Copy the note') : null,
      undo || redo ? steps(undo, redo) : null,
    ),
  );
  host.hidden = false;
  announce(`${title}. ${files}`);
}

function closePanel() {
  shown = null;
  host.hidden = true;
  fill(host);
  document.getElementById('main').focus({preventScroll: true});
}

/** One key copies the command. */
export function copyResume() {
  if (!shown?.resume) return false;
  copyText(shown.resume).then(done =>
    say(done ? 'The command is copied.' : 'The browser did not allow copying.', {
      kind: done ? 'done' : 'error',
    }),
  );
  return true;
}

function fileWords(answer) {
  const written = amount(answer, 'written');
  const deleted = amount(answer, 'deleted');
  return written || deleted
    ? `${plural(written, 'file')} written, ${number(deleted)} deleted.`
    : 'No file had to change.';
}

function amount(answer, field) {
  return answer[`${field}Count`] ?? answer[field]?.length ?? 0;
}

function lists(answer) {
  const remaining = answer.remaining || [];
  return [
    list('written', answer.written, amount(answer, 'written')),
    list('deleted', answer.deleted, amount(answer, 'deleted')),
    list('not restored', remaining, answer.remainingCount ?? remaining.length),
  ].filter(Boolean);
}

function list(label, items, total) {
  if (!total || !items?.length) return null;
  return h(
    'details.panel-list',
    {open: total <= 4},
    h('summary', icon('chevron'), `${plural(total, 'file')} ${label}`),
    h(
      'ul.paths',
      items.slice(0, NAMED).map(item => h('li', pathText(item.path ?? item))),
    ),
  );
}

function copyPart(label, text, copy) {
  return h(
    'div.panel-part',
    h('span.label', label),
    h('div.taken', h('p.prompt', {tabindex: '0'}, text), copyButton(text, copy, 'quiet')),
  );
}

/** The step that would be undone is named: by the time of the press the project may know of another. */
function steps(undo, redo) {
  const button = (label, step, about) =>
    step && h('button.outline-button', {onclick: step, title: about?.text}, label);
  return h(
    'div.panel-steps',
    button('Undo…', undo, state.project?.canUndo),
    button('Redo…', redo, state.project?.canRedo),
    undo && state.project?.canUndo
      ? h('span.muted', oneLine(`Undoes: ${state.project.canUndo.text}`, 140))
      : null,
  );
}
