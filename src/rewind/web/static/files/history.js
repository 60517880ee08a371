// Every version of a file, newest first: what changed, after which prompt, and a button to restore it.

import {h} from '../core/element.js';
import {iconButton} from '../parts/icons.js';
import {to} from '../core/route.js';
import {moment, oneLine, plural} from '../core/format.js';
import {counts, statusLetter} from '../code/diff.js';

const BACK = 'Bring back this version…';

/** `bringBack(checkpoint, words)` opens the plan for a version. */
export function historyList(found, path, point, bringBack) {
  const versions = found.changes.map(change => version(change, path, point, bringBack));
  return [
    h('ol.versions', versions),
    found.more ? h('p.muted.pad', 'For older changes, run: ', h('code', `rewind log ${path}`)) : null,
    found.leftOut
      ? h('p.muted.pad', `${plural(found.leftOut, 'damaged checkpoint')} could not be read.`)
      : null,
  ];
}

function version(change, path, point, bringBack) {
  const current = change.checkpoint === point && !change.operation;
  const when = moment(change.createdAt);
  const time = h('time', {datetime: change.createdAt}, when);
  const there = change.status !== 'deleted';
  const href = to.files(change.checkpoint, path);
  const title = 'The files at this point';
  const back = () => bringBack(change.checkpoint, wordsOf(change));
  return h(
    `li.version${current ? '.current' : ''}`,
    h(
      'div.version-line',
      statusLetter(change.status),
      there ? h('a.version-open', {href, 'aria-current': current ? 'true' : null, title}, time) : time,
      change.added || change.removed ? counts(change.added, change.removed) : null,
      h('span.grow'),
      there && iconButton('rewind', `Bring back the version of ${when}`, back, {title: BACK}),
    ),
    h('div.version-about', about(change)),
  );
}

function wordsOf(change) {
  if (!change.operation && change.prompt) return `after turn ${change.prompt.turn}: ${change.prompt.text}`;
  return `on ${moment(change.createdAt)}`;
}

function about(change) {
  if (change.operation) return h('span.muted', `Rewind ${oneLine(change.text, 140)}`);
  if (!change.prompt) return h('span.muted', oneLine(change.text, 140) || 'No prompt is known');
  const {sessionId, turn, text} = change.prompt;
  return h(
    'a',
    {href: to.session(sessionId, turn), title: `Open turn ${turn}`},
    h('strong', `After turn ${turn}`),
    ` ${oneLine(text, 140)}`,
  );
}
