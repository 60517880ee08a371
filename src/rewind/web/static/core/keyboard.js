// Keys for the whole page. A field, a menu or a dialog has its own keys, and keeps them.

import {isModalOpen} from '../parts/modal.js';
import {isMenuOpen} from '../parts/menu.js';
import {openHelp} from '../parts/help.js';
import {copyResume} from '../plans/panel.js';
import {openStep} from '../plans/restore.js';

/** `view()` is what is shown; its `key(name)` says whether it used the key. */
export function listen(view, {focusTree}) {
  document.addEventListener('keydown', event => {
    if (event.defaultPrevented || isModalOpen() || isMenuOpen()) return;
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
    else if (event.key === 'y' && copyResume()) event.preventDefault();
    else if (event.key === 'u') openStep('undo');
    else if (event.key === 'U') openStep('redo');
    else if (event.key === 'Escape') document.activeElement?.blur?.();
    else if (!view()?.key(event.key)) return;
    event.preventDefault();
  });
}

function isField(node) {
  return (
    node instanceof HTMLElement &&
    (node.isContentEditable ||
      (/^(INPUT|TEXTAREA|SELECT)$/.test(node.tagName) && !/^(checkbox|radio|button)$/.test(node.type)))
  );
}
