// A dialog. The focus stays inside it and returns to where it was. Escape closes it.

import {h, freshId} from '../core/element.js';
import {iconButton} from './icons.js';

const FOCUSABLE = 'a[href], :is(button, input, select, textarea):not([disabled]), summary, [tabindex="0"]';

const closers = new Set(); // of the dialogs that are open

/**
 * `leave` is the label of the button that changes nothing. `closed` resolves with the argument of `close`.
 */
export function openModal(title, {wide = false, kind = '', leave = 'Cancel'} = {}) {
  const before = document.activeElement;
  const titleId = freshId('dialog');
  const body = h('div.dialog-body');
  const cancel = h('button.plain', {onclick: () => close()}, leave);
  const foot = h('div.dialog-foot', cancel);
  const dialog = h(
    `dialog${wide ? '.wide' : ''}${kind ? `.${kind}` : ''}`,
    {'aria-labelledby': titleId},
    h(
      'div.dialog-head',
      h('h2', {id: titleId}, title),
      iconButton('close', 'Close', () => close()),
    ),
    body,
    foot,
  );
  let finish;
  const closed = new Promise(resolve => {
    finish = resolve;
  });
  let open = true;

  function close(result = null) {
    if (!open) return;
    open = false;
    closers.delete(close);
    dialog.close();
    dialog.remove();
    const target = before?.isConnected ? before : document.getElementById('main');
    target?.focus({preventScroll: true});
    finish(result);
  }

  dialog.addEventListener('cancel', event => {
    event.preventDefault();
    close();
  });
  dialog.addEventListener('keydown', event => keepInside(event, dialog));
  dialog.addEventListener('pointerdown', event => {
    if (event.target === dialog) close();
  });
  document.body.append(dialog);
  dialog.showModal();
  closers.add(close);
  queueMicrotask(() => scrollableByKey(body)); // by then it is filled
  const sizes = new ResizeObserver(() => scrollableByKey(body));
  sizes.observe(body);
  closed.then(() => sizes.disconnect());
  return {dialog, body, foot, cancel, close, closed};
}

/** A part that scrolls and contains nothing to focus gets the focus itself, so that keys can scroll it. */
function scrollableByKey(body) {
  if (body.scrollHeight > body.clientHeight + 1 && !body.querySelector(FOCUSABLE))
    body.setAttribute('tabindex', '0');
}

function keepInside(event, dialog) {
  if (event.key === 'Escape') event.stopPropagation();
  if (event.key !== 'Tab') return;
  const all = [...dialog.querySelectorAll(FOCUSABLE)].filter(n => n.offsetParent !== null);
  if (!all.length) return;
  const first = all[0],
    last = all[all.length - 1];
  if (event.shiftKey && document.activeElement === first) {
    event.preventDefault();
    last.focus();
  } else if (!event.shiftKey && document.activeElement === last) {
    event.preventDefault();
    first.focus();
  }
}

/** When another view comes, as with the browser's back button: a dialog is about the view below it. */
export function closeModals() {
  for (const close of [...closers].reverse()) close();
}

export function isModalOpen() {
  return document.querySelector('dialog[open]') !== null;
}

/** A question with one action. Resolves with true if the person chose it. */
export function confirm(title, content, label, kind = 'primary') {
  const {body, foot, close, closed} = openModal(title);
  body.append(...content);
  const act = h(`button.${kind}`, {onclick: () => close(true)}, label);
  foot.append(act);
  act.focus();
  return closed;
}

/** Asks for a name. Resolves with the text, or null. */
export function askName(title, label, value, action) {
  const {body, foot, close, closed} = openModal(title);
  const id = freshId('name');
  const input = h('input', {id, type: 'text', value, maxlength: 200, autocomplete: 'off'});
  const done = () => {
    if (input.value.trim()) close(input.value.trim());
  };
  input.addEventListener('keydown', event => {
    if (event.key === 'Enter') {
      event.preventDefault();
      done();
    }
  });
  body.append(h('label.field', {for: id}, label), input);
  foot.append(h('button.primary', {onclick: done}, action));
  input.focus();
  input.select();
  return closed;
}
