// Text that the server has rendered, such as answers and highlighted code.

import {h} from '../core/element.js';
import {copyButton} from '../parts/copy.js';
import {fromServer} from './door.js';

/** Markdown. Each block of code gets a button to copy it. */
export function prose(html) {
  const node = h('div.md', fromServer(html));
  for (const head of node.querySelectorAll('.code > .code-head')) {
    head.append(copyButton(() => head.nextElementSibling.textContent, 'Copy this code'));
  }
  // The marks of a list must be at the side where its text begins.
  for (const list of node.querySelectorAll('ul, ol')) list.dir = 'auto';
  return node;
}
