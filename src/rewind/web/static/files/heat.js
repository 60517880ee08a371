// How often a file changed, as a colour and a number.

import {h} from '../core/element.js';
import {age, number, plural} from '../core/format.js';

const LEVELS = 4;

/** From cold to hot, compared with the file that changed most; 0 is for what never changed. */
export function heatLevel(changes, most) {
  if (!changes) return 0;
  if (most <= 1) return 1;
  return 1 + Math.round(((LEVELS - 1) * Math.log(Math.min(changes, most))) / Math.log(most));
}

/** A folder is as hot as the hottest file in it, and its number is that of all changes. */
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
