// How often a file changed, as a colour and a number.

import {h} from '../core/element.js';
import {age, number, plural} from '../core/format.js';

const LEVELS = 4;

/** From cold to hot, relative to the file that changed most. 0 means that it never changed. */
export function heatLevel(changes, most) {
  if (!changes) return 0;
  if (most <= 1) return 1;
  return 1 + Math.round(((LEVELS - 1) * Math.log(Math.min(changes, most))) / Math.log(most));
}

/** A folder has the colour of its hottest file, and the number of all changes in it. */
export function heat(entry, most) {
  if (!entry.changes) return h('span.heat.heat-0');
  const when = entry.last ? `, last ${age(entry.last.createdAt)}` : '';
  return h(
    `span.heat.heat-${heatLevel(entry.hottest, most)}`,
    {title: `Changed ${plural(entry.changes, 'time')}${when}`},
    h('span.visually-hidden', ', changed '),
    number(entry.changes),
    h('span.visually-hidden', entry.changes === 1 ? ' time' : ' times'),
  );
}
