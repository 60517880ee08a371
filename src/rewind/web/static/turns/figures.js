// The figures of a turn: lines, files, time, failures. Its head, the list and the scrubber show the same.

import {h} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {duration, number, plural} from '../core/format.js';

/** `+138 −6 in 2 files`, or an empty text. It says `at least` if not all lines were counted. */
export function changeWords({added, removed, files, counted}) {
  if (!files) return '';
  const least = counted === false ? 'at least ' : '';
  return `${least}+${number(added || 0)} −${number(removed || 0)} in ${plural(files, 'file')}`;
}

export function changeNodes({added, removed, files, counted}) {
  return [
    counted === false ? h('span.in-files', 'at least ') : null,
    h('span.plus', `+${number(added || 0)}`),
    ' ',
    h('span.minus', `−${number(removed || 0)}`),
    h('span.in-files', ` in ${plural(files, 'file')}`),
  ];
}

export function changesOf(turn) {
  const {changes} = turn;
  if (!changes) return {files: 0};
  const {added, removed, counted} = changes;
  return {added, removed, counted, files: changes.files.length + (changes.more || 0)};
}

export function failureNode(count) {
  if (!count) return null;
  return h(
    'span.failures',
    {title: plural(count, 'tool failed', 'tools failed')},
    icon('warning'),
    `${count} failed`,
  );
}

export function durationNode(seconds) {
  const words = seconds > 0 ? duration(seconds) : '';
  return words ? h('span.took', {title: 'From the prompt to the last answer'}, words) : null;
}

/** All figures in words, for a tooltip and for people who cannot see the bars. */
export function figureWords(turn) {
  return [
    changeWords(turn),
    turn.failures ? plural(turn.failures, 'failure') : '',
    turn.seconds > 0 ? duration(turn.seconds) : '',
    turn.edited ? 'then edited by hand' : '',
    turn.saved?.length ? plural(turn.saved.length, 'saved checkpoint') : '',
  ]
    .filter(Boolean)
    .join(', ');
}
