// What is folded: its content is made when it is first opened.

import {h, put} from '../core/element.js';
import {icon} from './icons.js';

/** `content(body)` fills the body; in `folds` it is kept, by `key`, whether this is open. */
export function folded(spec, summary, body, content, {folds = new Set(), key = '', ...attributes} = {}) {
  const head = h('summary', icon('chevron'), summary);
  const node = h(`details.${spec}`, {open: folds.has(key), ...attributes}, head, body);
  const show = () => {
    if (node.open && !body.firstChild) content(body);
  };
  node.addEventListener('toggle', () => {
    put(folds, key, node.open);
    show();
  });
  show();
  return node;
}
