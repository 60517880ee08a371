// Keys for the whole page. Fields, menus and dialogs have their own keys, which have priority.

import {go, to} from './route.js';
import {isModalOpen} from '../parts/modal.js';
import {isMenuOpen} from '../parts/menu.js';
import {openHelp} from '../parts/help.js';
import {copyResume} from '../plans/panel.js';
import {openStep} from '../plans/restore.js';

/** The answer of a view's `key(name)` while it still reads what the key needs. */
export const LATER = 'later';
const MOST_EARLY = 40;
const early = []; // keys that were pressed before the view could use them, in their order

/** `view()` returns the current view. Its `key(name)` says whether it used the key. */
export function listen(view, {focusTree}) {
  document.addEventListener('keydown', event => {
    if (event.defaultPrevented || isModalOpen() || isMenuOpen()) return;
    if ((!view() || early.length) && keep(event)) return;
    if ((event.ctrlKey || event.metaKey) && event.shiftKey && event.key.toLowerCase() === 'z') {
      // In a field, this is the browser's redo.
      if (isField(event.target)) return;
      event.preventDefault();
      view()?.key('r');
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return;
    if (event.key === '?') openHelp();
    else if (event.key === 's') focusTree();
    else if (event.key === 'g') go(to.graph());
    else if (event.key === 'y' && copyResume()) event.preventDefault();
    else if (event.key === 'u') openStep('undo');
    else if (event.key === 'U') openStep('redo');
    else if (event.key === 'Escape') document.activeElement?.blur?.();
    else if (!used(view(), event)) return;
    event.preventDefault();
  });
  // A person who uses the pointer is no longer waiting for early keys.
  document.addEventListener('pointerdown', () => early.splice(0), {capture: true});
}

function used(view, event) {
  const answer = view?.key(event.key);
  if (answer === LATER) keep(event);
  return answer;
}

/** Keeps a key for the view that is still loading, unless the key is for a field. */
function keep(event) {
  const {key, ctrlKey, metaKey, altKey, shiftKey} = event;
  if (isField(event.target) || ctrlKey || metaKey || altKey) return false;
  if ((key.length > 1 && key !== 'Enter') || early.length >= MOST_EARLY) return false;
  if (key === 'Enter' && !early.length) return false; // it is for the element with the focus
  early.push({key, shiftKey});
  event.preventDefault();
  return true;
}

/** The view is ready. Sends it the keys that were kept, and types them if the focus is in a field by then. */
export function replay() {
  for (const {key, shiftKey} of early.splice(0)) {
    const target = document.activeElement || document.body;
    const event = new KeyboardEvent('keydown', {key, shiftKey, bubbles: true, cancelable: true});
    if (target.dispatchEvent(event) && isField(target) && key.length === 1) type(target, key);
  }
}

function type(field, text) {
  field.setRangeText(text, field.selectionStart, field.selectionEnd, 'end');
  field.dispatchEvent(new Event('input', {bubbles: true}));
}

function isField(node) {
  return (
    node instanceof HTMLElement &&
    (node.isContentEditable ||
      (/^(INPUT|TEXTAREA|SELECT)$/.test(node.tagName) && !/^(checkbox|radio|button)$/.test(node.type)))
  );
}
