// What the agent did between two texts: a run of thinking and tools is shown as one line.

import {add, h} from '../core/element.js';
import {folded} from '../parts/fold.js';
import {plural} from '../core/format.js';

const MANY = 3; // this many steps fold into one line
/** Kinds of tools: [icon, one of them, several of them]. */
const KINDS = {
  read: ['read', 'read'],
  edit: ['edit', 'edit'],
  run: ['terminal', 'command'],
  search: ['search', 'search', 'searches'],
  todo: ['list', 'plan'],
  agent: ['agent', 'subagent'],
  web: ['globe', 'look-up'],
  other: ['tool', 'other'],
};

export function iconOf(kind) {
  return (KINDS[kind] || KINDS.other)[0];
}

/** [{blocks: [[block, index]…], run}] in order. `run` says whether they fold into one line. */
export function runsOf(blocks) {
  const found = [];
  blocks.forEach((block, index) => {
    const step = block.kind === 'tool' || block.kind === 'thinking';
    if (!step || !found.at(-1)?.steps) found.push({steps: step, blocks: []});
    found.at(-1).blocks.push([block, index]);
  });
  return found.map(run => ({blocks: run.blocks, run: run.steps && run.blocks.length >= MANY}));
}

/** `12 steps: 4 reads, 3 edits, 1 failed` */
export function stepWords(blocks) {
  const count = {};
  for (const [block] of blocks) if (block.kind === 'tool') count[block.about] = (count[block.about] || 0) + 1;
  const kinds = Object.entries(KINDS)
    .filter(([kind]) => count[kind])
    .map(([kind, [, one, many]]) => plural(count[kind], one, many));
  const failed = blocks.filter(([block]) => block.isError).length;
  const words = [...kinds, failed ? `${failed} failed` : ''].filter(Boolean).join(', ');
  return {steps: plural(blocks.length, 'step'), words, failed};
}

/** The line for a run. `make()` makes its unfolded content. */
export function runFold(blocks, make, options) {
  const {steps, words, failed} = stepWords(blocks);
  const line = [h('span.fold-name', steps), h('span.clip.muted', words ? `: ${words}` : '')];
  return folded(`run${failed ? '.bad' : ''}`, line, h('div.run-body'), body => add(body, make()), options);
}
