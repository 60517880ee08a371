// Keys for the whole page. A field, a menu or a dialog has its own keys, and keeps them.

import {go, to} from './route.js';
import {isModalOpen} from '../parts/modal.js';
import {isMenuOpen} from '../parts/menu.js';
import {openHelp} from '../parts/help.js';
import {copyResume} from '../plans/panel.js';
import {openStep} from '../plans/restore.js';

/** What a view's `key(name)` answers while it still reads what the key is about. */
export const LATER = 'later';
const MOST_EARLY = 40;
const early = []; // pressed before the view could use them, in their order

/** `view()` is what is shown; its `key(name)` says whether it used the key. */
export function listen(view, {focusTree}) {
  document.addEventListener('keydown', event => {
    if (event.defaultPrevented || isModalOpen() || isMenuOpen()) return;
    if ((!view() || early.length) && keep(event)) return;
    if ((event.ctrlKey || event.metaKey) && event.shiftKey && event.key.toLowerCase() === 'z') {
      // The browser's redo, where there is something to redo.
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
  // Who points at something has gone on to something else.
  document.addEventListener('pointerdown', () => early.splice(0), {capture: true});
}

function used(view, event) {
  const answer = view?.key(event.key);
  if (answer === LATER) keep(event);
  return answer;
}

/** A key that is about the page, not about a field, is kept for the view that is on its way. */
function keep(event) {
  const {key, ctrlKey, metaKey, altKey, shiftKey} = event;
  if (isField(event.target) || ctrlKey || metaKey || altKey) return false;
  if ((key.length > 1 && key !== 'Enter') || early.length >= MOST_EARLY) return false;
  if (key === 'Enter' && !early.length) return false; // it is about what has the focus
  early.push({key, shiftKey});
  event.preventDefault();
  return true;
}

/** The view has what its keys are about: what was pressed meanwhile is done now, and typed where it goes. */
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
