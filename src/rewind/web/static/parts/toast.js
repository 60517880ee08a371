// Messages about the result of an action. They are read aloud, shown for some seconds, and may have a button.

import {h, prose} from '../core/element.js';
import {icon, iconButton} from './icons.js';

const SHORT = 5000,
  LONG = 15000;

/** `quiet`: only for screen readers. `action`: {label, run}. */
export function say(message, {kind = 'done', hint = '', action = null, quiet = false} = {}) {
  const region = document.getElementById('toasts');
  const act = () => {
    node.remove();
    action.run();
  };
  const node = h(
    `div.toast.${kind}${quiet ? '.quiet' : ''}`,
    quiet ? null : icon(kind === 'error' ? 'warning' : kind === 'info' ? 'info' : 'check'),
    h('div.toast-text', h('p', message), hint ? h('p.hint', prose(hint)) : null),
    action ? h('button.link', {onclick: act}, action.label) : null,
    quiet ? null : iconButton('close', 'Dismiss', () => node.remove()),
  );
  while (region.children.length > 3) region.firstChild.remove();
  region.append(node);
  fade(node, action || kind === 'error' ? LONG : SHORT);
}

export function sayError(error) {
  say(error.message, {kind: 'error', hint: error.hint});
}

function fade(node, wait) {
  setTimeout(() => {
    if (node.matches(':hover, :focus-within')) fade(node, 2000);
    else node.remove();
  }, wait);
}

export function announce(message) {
  say(message, {quiet: true});
}
