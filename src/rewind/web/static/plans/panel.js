// The panel after an action: the files, undo and redo, and how to continue. It stays until it is closed or
// replaced.

import {h, fill, listOf} from '../core/element.js';
import {state} from '../core/state.js';
import {icon, iconButton} from '../parts/icons.js';
import {copyButton, copyText} from '../parts/copy.js';
import {command} from '../parts/states.js';
import {announce, say} from '../parts/toast.js';
import {number, oneLine, plural} from '../core/format.js';
import {pathText} from '../code/diff.js';
import {amount} from './plan_parts.js';

const NAMED = 100;
const LISTS = [
  ['written', 'written'],
  ['deleted', 'deleted'],
  ['remaining', 'not restored'],
];
const host = document.getElementById('panel');
let toResume = ''; // the command that the panel shows

/**
 * `title`: what was done; `answer`: the server's answer about files; `resume`: the command that continues;
 * `prompt`: the prompt that was taken back; `note`: a text for the agent; `undo`, `redo`: functions, if
 * that is possible.
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
  toResume = resume;
  const files = answer ? fileWords(answer) : '';
  fill(
    host,
    h('div.panel-head', icon('check'), h('h2', title), iconButton('close', 'Close this panel', closePanel)),
    h(
      'div.panel-body',
      files ? h('p.panel-files', files) : null,
      answer && LISTS.map(([field, label]) => list(answer, field, label)),
      notes.map(note => h('p.muted', note)),
      resume ? h('div.panel-part', h('span.label', 'Continue with', h('kbd', 'y')), command(resume)) : null,
      prompt ? copyPart('The prompt that was taken back', prompt, 'Copy the prompt') : null,
      note ? copyPart('The agent does not know about this. To tell it, paste', note, 'Copy the note') : null,
      undo || redo ? steps(undo, redo) : null,
    ),
  );
  host.hidden = false;
  announce(`${title}. ${files}`);
}

function closePanel() {
  toResume = '';
  host.hidden = true;
  fill(host);
  document.getElementById('main').focus({preventScroll: true});
}

/** Copies the command. Returns false if there is none. */
export function copyResume() {
  if (!toResume) return false;
  copyText(toResume).then(done => done && say('The command is copied.'));
  return true;
}

function fileWords(answer) {
  const written = amount(answer, 'written');
  const deleted = amount(answer, 'deleted');
  return written || deleted
    ? `${plural(written, 'file')} written, ${number(deleted)} deleted.`
    : 'No file had to change.';
}

/** A list of files that unfolds, or null without files. */
function list(answer, field, label) {
  const total = amount(answer, field);
  const items = answer[field] || [];
  if (!total || !items.length) return null;
  return h(
    'details.panel-list',
    {open: total <= 4},
    h('summary', icon('chevron'), `${plural(total, 'file')} ${label}`),
    listOf('ul.paths', items.slice(0, NAMED), item => pathText(item.path ?? item)),
  );
}

function copyPart(label, text, copy) {
  return h(
    'div.panel-part',
    h('span.label', label),
    h('div.taken', h('p.prompt', {tabindex: '0'}, text), copyButton(text, copy, 'quiet')),
  );
}

/** The step that would be undone is named, because by the time of the press it may be another one. */
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
