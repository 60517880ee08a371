// The lines of a file in runs. Beside each run are its author and a link to the turn.

import {h} from '../core/element.js';
import {to} from '../core/route.js';
import {age, moment, oneLine} from '../core/format.js';
import {fromServer} from '../code/door.js';

/** `found`: {from, lines: [html], runs} */
export function blameRuns(found) {
  let at = 0;
  const items = found.runs.map(run => {
    const first = found.from + at;
    const lines = found.lines.slice(at, at + run.lines);
    at += run.lines;
    return item(run, first, lines);
  });
  return h(
    'div.blame',
    {tabindex: '0', role: 'region', 'aria-label': 'Lines, and who wrote them'},
    h('ol', items),
  );
}

function item(run, first, lines) {
  const numbers = lines.map((_, n) => first + n).join('\n');
  return h(
    `li.blame-run.by-${run.who}${run.saved ? '' : '.unsaved'}`,
    {'data-line': first},
    author(run),
    h('pre.blame-numbers', {'aria-hidden': 'true'}, numbers),
    h('pre.blame-text', fromServer(lines.join('\n'))),
  );
}

/** The author of a run. Plans also use this for lines in conflict. */
export function authorWords(run) {
  if (run.who === 'git') return {name: `git ${run.commit.slice(0, 7)}`, text: run.summary};
  if (run.who === 'you') return {name: 'You', text: run.saved ? 'between turns' : 'not in a checkpoint yet'};
  return {name: run.turn ? `Turn ${run.turn}` : 'Agent', text: run.prompt};
}

function author(run) {
  const {name, text} = authorWords(run);
  const title = [name, run.at ? moment(run.at) : 'now', text].filter(Boolean).join('\n');
  const shown = [
    h('strong', name),
    h('span.muted', run.at ? age(run.at) : 'now'),
    h('span.clip', oneLine(text, 120)),
  ];
  if (run.who === 'agent' && run.sessionId && run.turn)
    return h('a.blame-who', {href: to.session(run.sessionId, run.turn), title}, shown);
  return h('span.blame-who', {title}, shown);
}
