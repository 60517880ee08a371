// Copies to the clipboard, and says whether that worked.

import {h, fill} from '../core/element.js';
import {icon} from './icons.js';
import {announce, say} from './toast.js';

export function copyButton(text, label, spec = 'icon-button') {
  const words = done => (spec === 'icon-button' ? null : done ? 'Copied' : 'Copy');
  const shown = done => [icon(done ? 'check' : 'copy'), words(done)];
  const node = h(`button.${spec}.copy`, {'aria-label': label, title: label}, shown(false));
  node.addEventListener('click', async event => {
    event.stopPropagation();
    if (!(await copyText(typeof text === 'function' ? text() : text))) return;
    fill(node, shown(true));
    announce('Copied.');
    setTimeout(() => fill(node, shown(false)), 1600);
  });
  return node;
}

/** Returns whether it was copied. If not, the page shows an error. */
export async function copyText(text) {
  const done = await copied(text);
  if (!done) say('The browser did not allow copying. Select the text instead.', {kind: 'error'});
  return done;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch (_) {
    return copyBySelection(text); // no permission, or an old browser
  }
}

function copyBySelection(text) {
  const area = h('textarea', {'aria-hidden': 'true', value: text});
  area.style.position = 'fixed';
  area.style.opacity = '0';
  const home = document.querySelector('dialog[open]') || document.body;
  home.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}
