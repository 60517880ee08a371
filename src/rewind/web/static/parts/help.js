// The help: what the keys do, and the words that the page uses.

import {h} from '../core/element.js';
import {openModal} from './modal.js';

const KEYS = [
  [['j', 'k'], 'Next and previous turn, or checkpoint'],
  [['r'], 'Rewind to the selected turn: to before it. On a checkpoint: restore it'],
  [['v'], 'Review what the selected turn changed'],
  [['b'], 'In a review: bring back the hunk at the change in view'],
  [['u'], 'Undo the last step, after showing its plan'],
  [['U'], 'Redo it'],
  [['y'], 'Copy the command that continues in the agent, after a rewind'],
  [['Ctrl', 'Shift', 'Z'], 'Rewind to the selected turn (Cmd on a Mac)'],
  [['c'], 'Compare this session with another'],
  [['f'], 'View or hide the future turns of a branch'],
  [['/'], 'Search this session'],
  [['s'], 'Go to the list of sessions; arrows move in it'],
  [['g'], 'Show the graph of sessions; j and k move in it'],
  [['?'], 'This help'],
  [['Esc'], 'Close a dialog, leave the search'],
];
const WORDS = [
  ['Turn', 'A prompt of yours with everything the agent did until the next one.'],
  ['Checkpoint', "The project's files at one moment. Rewind saves one before each prompt."],
  ['Branch', 'A copy of a session up to a turn. The session it came from stays as it is.'],
];

export function openHelp() {
  const {body, cancel} = openModal('Help', {leave: 'Close'});
  body.append(
    h('h3', 'Keyboard'),
    h(
      'dl.keys',
      KEYS.map(([keys, text]) =>
        h(
          'div',
          h(
            'dt',
            keys.map(k => h('kbd', k)),
          ),
          h('dd', text),
        ),
      ),
    ),
    h('h3', 'Words'),
    h(
      'dl.words',
      WORDS.map(([word, text]) => h('div', h('dt', word), h('dd', text))),
    ),
  );
  cancel.className = 'primary';
  cancel.focus();
}
