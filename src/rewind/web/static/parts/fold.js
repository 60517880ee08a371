// Folded parts, whose content is made when they are first opened.

import {h, setMember} from '../core/element.js';
import {icon} from './icons.js';

/** `content(body)` fills the body. `folds` holds the keys of the parts that are open. */
export function folded(spec, summary, body, content, {folds = new Set(), key = '', ...attributes} = {}) {
  const head = h('summary', icon('chevron'), summary);
  const node = h(`details.${spec}`, {open: folds.has(key), ...attributes}, head, body);
  const show = () => {
    if (node.open && !body.firstChild) content(body);
  };
  node.addEventListener('toggle', () => {
    setMember(folds, key, node.open);
    show();
  });
  show();
  return node;
}
