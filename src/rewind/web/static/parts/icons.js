// Small line drawings on a 16-unit grid, in the colour of the text around them.

import {h, svg} from '../core/element.js';

const PATHS = {
  rewind: ['M3 3v10', 'M3 9.5C3 6.5 5 5.5 8 5.5h5', 'M10 2.5 7 5.5l3 3'],
  undo: ['M3 6.5h6.5a3.5 3.5 0 0 1 0 7H6', 'm6 3.5-3 3 3 3'],
  redo: ['M13 6.5H6.5a3.5 3.5 0 0 0 0 7H10', 'm10 3.5 3 3-3 3'],
  edit: ['M3 13l.6-2.8 7.4-7.4 2.2 2.2-7.4 7.4z'],
  terminal: ['M2.5 3h11v10h-11z', 'm5 6 2 2-2 2', 'M8.5 10.5H11'],
  read: ['M3 3.5h4.5V13H3z', 'M7.5 3.5H13V13H7.5'],
  list: ['m2.5 4 1 1L5 3', 'M7 4h6.5', 'm2.5 8.5 1 1 1.5-2', 'M7 8.5h6.5', 'M7 12.5h6.5'],
  globe: ['M2 8h12', 'M8 2c2.5 3 2.5 9 0 12', 'M8 2c-2.5 3-2.5 9 0 12'],
  agent: ['M4 6h8v6H4z', 'M8 3v3', 'M6.5 9h.01', 'M9.5 9h.01'],
  forward: ['M13 3v10', 'M13 9.5c0-3-2-4-5-4H3', 'm6 2.5 3 3-3 3'],
  branch: ['M4.5 5.5v5', 'M4.5 9c0-2 1.5-2.5 3.5-2.5 2 0 3.5-.5 3.5-1.5'],
  chevron: ['m6 4 4 4-4 4'],
  down: ['m4 6 4 4 4-4'],
  up: ['m4 10 4-4 4 4'],
  back: ['M9.5 3.5 5 8l4.5 4.5'],
  search: ['M10.5 10.5 14 14'],
  close: ['m4 4 8 8', 'm12 4-8 8'],
  copy: ['M6 6h7v7H6z', 'M10 6V3H3v7h3'],
  check: ['m3.5 8.5 3 3 6-7'],
  more: [],
  file: ['M4 2.5h5l3 3v8H4z', 'M9 2.5v3h3'],
  image: ['M2.5 3.5h11v9h-11z', 'm3 11.5 3.5-3.5 2.5 2.5 1.5-1.5 2.5 2.5'],
  tool: ['M9.5 2.5a3.5 3.5 0 0 0-3.3 4.7L2.5 10.9v2.6h2.6l3.7-3.7a3.5 3.5 0 0 0 4.5-4.5L11 7.6 8.4 5z'],
  thought: ['M3 8h.01', 'M8 8h.01', 'M13 8h.01'],
  warning: ['M8 2.5 14 13.5H2z', 'M8 6.5v3.5', 'M8 12h.01'],
  info: ['M8 7.5v4', 'M8 5h.01'],
  sun: [
    'M8 1.5v1',
    'M8 13.5v1',
    'M1.5 8h1',
    'M13.5 8h1',
    'm3.4 3.4.7.7',
    'm11.9 11.9.7.7',
    'm3.4 12.6.7-.7',
    'm11.9 4.1.7-.7',
  ],
  moon: ['M13 9.5A5.5 5.5 0 1 1 6.5 3 4.5 4.5 0 0 0 13 9.5z'],
  auto: ['M8 2.5v11', 'M8 4.5h3.5', 'M8 8h5', 'M8 11.5h3.5'],
  help: ['M6.2 6.2a1.9 1.9 0 1 1 2.7 1.7c-.6.3-.9.7-.9 1.3', 'M8 11.5h.01'],
  trash: ['M3 4.5h10', 'M6.5 4.5v-2h3v2', 'm4.5 4.5.5 9h6l.5-9'],
  diamond: ['M8 3.5 12.5 8 8 12.5 3.5 8z'],
  compact: ['M2.5 8h11', 'm5.5 3 2.5 2.5L10.5 3', 'm5.5 13 2.5-2.5 2.5 2.5'],
  filter: ['M2.5 4h11', 'M4.5 8h7', 'M6.5 12h3'],
  fold: ['M3 5h10', 'M3 8h10', 'M3 11h6'],
  columns: ['M2.5 3h11v10h-11z', 'M8 3v10'],
};
const CIRCLES = {
  branch: [
    [4.5, 4, 1.5],
    [4.5, 12, 1.5],
    [11.5, 4, 1.5],
  ],
  search: [[7, 7, 4.5]],
  globe: [[8, 8, 6]],
  info: [[8, 8, 6]],
  help: [[8, 8, 6]],
  sun: [[8, 8, 3]],
  auto: [[8, 8, 5.5]],
  more: [
    [3.5, 8, 0.75],
    [8, 8, 0.75],
    [12.5, 8, 0.75],
  ],
};

/** Only decoration. The button around it has the name. */
export function icon(name) {
  const drawn = {viewBox: '0 0 16 16', class: `icon icon-${name}`, 'aria-hidden': 'true', focusable: 'false'};
  const paths = (PATHS[name] || []).map(d => svg('path', {d}));
  const circles = (CIRCLES[name] || []).map(([cx, cy, r]) => svg('circle', {cx, cy, r}));
  return svg('svg', drawn, paths, circles);
}

/** A button that shows only a drawing, with a name for people who cannot see it. */
export function iconButton(name, label, onclick, more = {}) {
  return h('button.icon-button', {'aria-label': label, onclick, ...more}, icon(name));
}
