// What a tool did, unfolded: a difference, a terminal or a list, with a button for the raw text.

import {h} from '../core/element.js';
import {api} from '../core/api.js';
import {fromServer} from '../code/door.js';
import {prose} from '../code/text.js';
import {linesView} from '../code/lines.js';
import {pathText} from '../code/diff.js';
import {copyButton} from '../parts/copy.js';
import {readInto} from '../parts/states.js';
import {inProject} from '../core/format.js';

/** Reads one block of a turn and shows it in an unfolded place. */
export function showBlock(place, session, turn, index) {
  return readInto(place, 'Reading', 1, async () => {
    const {block} = await api.block(session, turn, index);
    return block.kind === 'thinking' ? h('div.thought', prose(block.html)) : toolParts(block);
  });
}

function toolParts(block) {
  const view = VIEWS[block.view]?.(block);
  const raw = () => [
    block.input ? h('pre.raw', {tabindex: '0', 'aria-label': 'Input'}, block.input) : null,
    block.view === 'terminal' || block.result === null ? null : result(block),
  ];
  if (!view) return raw();
  return [
    ...view,
    block.isError && block.view !== 'terminal' ? result(block) : null,
    h('details.raw-part', h('summary', 'Raw input and result'), raw()),
  ];
}

const VIEWS = {
  diff: block => [
    h('p.tool-path', pathText(inProject(block.path))),
    ...block.parts.map(rows => linesView(rows, {label: `Changes to ${block.path}`})),
  ],
  code: block => [h('pre.raw', {tabindex: '0', 'aria-label': 'Patch'}, fromServer(block.html))],
  terminal: block => [terminal(block)],
  todos: block => [
    h(
      'ul.todos',
      block.items.map(({text, status}) => h('li.task', taskBox(status), text)),
    ),
  ],
};

function taskBox(status) {
  const done = status === 'completed' ? '.done' : '';
  return h(`span.task-box${done}`, {role: 'img', 'aria-label': status || 'open'});
}

function terminal(block) {
  const {status} = block;
  const words = status === 0 ? 'exit 0' : status ? `exit ${status}` : block.isError ? 'failed' : '';
  return h(
    'div.terminal',
    h(
      'div.terminal-line',
      h('span.dollar', {'aria-hidden': 'true'}, '$'),
      h('code', fromServer(block.html)),
      h(`span.exit${status === 0 ? '' : '.bad'}`, block.result === null ? 'running' : words),
      copyButton(block.command, 'Copy the command'),
    ),
    block.result === null
      ? null
      : h('pre.result', {tabindex: '0', 'aria-label': 'Output'}, block.result || '(no output)'),
  );
}

function result(block) {
  return h(
    'div.result',
    h('p.label', block.isError ? 'Error' : 'Result'),
    h('pre', {tabindex: '0', 'aria-label': 'Result'}, block.result || '(nothing)'),
  );
}
