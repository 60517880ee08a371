// A small menu at a button or at the pointer. Arrow keys move in it.

import {h, setReason} from '../core/element.js';

let open = null;

/** items: {label, run, reason?, danger?, keys?, checked?}, or null for a separator. */
export function openMenu(items, {at = null, anchor = null, label = 'Actions'} = {}) {
  closeMenu();
  const before = document.activeElement;
  const menu = h('div.menu', {role: 'menu', 'aria-label': label});
  menu.append(...items.map(item => (item ? menuItem(item) : h('div.menu-line', {role: 'separator'}))));
  (document.querySelector('dialog[open]') || document.body).append(menu);
  place(menu, at, anchor);
  open = {menu, before, anchor};
  anchor?.setAttribute('aria-expanded', 'true');
  menu.addEventListener('keydown', onKey);
  setTimeout(() => document.addEventListener('pointerdown', onOutside), 0);
  menu.querySelector('[role^=menuitem]')?.focus();
}

function menuItem(item) {
  const node = h(
    `button.menu-item${item.danger ? '.danger' : ''}`,
    item.checked === undefined
      ? {role: 'menuitem', tabindex: '-1'}
      : {role: 'menuitemcheckbox', 'aria-checked': String(item.checked), tabindex: '-1'},
    h('span', item.label),
    item.keys ? h('kbd', item.keys) : null,
  );
  if (item.reason) {
    node.append(h('small', item.reason));
    return setReason(node, item.reason);
  }
  node.addEventListener('click', () => {
    closeMenu();
    item.run();
  });
  return node;
}

function place(menu, at, anchor) {
  const box = anchor?.getBoundingClientRect();
  const size = menu.getBoundingClientRect();
  const left = at ? at.x : box.right - size.width;
  const top = at ? at.y : box.bottom + 4;
  const lower = box && top + size.height > innerHeight - 8 ? box.top - size.height - 4 : top;
  menu.style.left = `${Math.max(8, Math.min(left, innerWidth - size.width - 8))}px`;
  menu.style.top = `${Math.max(8, Math.min(lower, innerHeight - size.height - 8))}px`;
}

function onKey(event) {
  const items = [...open.menu.querySelectorAll('[role^=menuitem]')];
  const at = items.indexOf(document.activeElement);
  const moves = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1};
  if (event.key in moves) {
    event.preventDefault();
    items[(moves[event.key] + items.length) % items.length].focus();
  } else if (event.key === 'Escape' || event.key === 'Tab') {
    event.preventDefault();
    closeMenu();
  }
  event.stopPropagation();
}

function onOutside(event) {
  if (open && !open.menu.contains(event.target)) closeMenu(false);
}

export function closeMenu(back = true) {
  if (!open) return;
  document.removeEventListener('pointerdown', onOutside);
  open.menu.remove();
  open.anchor?.setAttribute('aria-expanded', 'false');
  if (back && open.before?.isConnected) open.before.focus({preventScroll: true});
  open = null;
}

export function isMenuOpen() {
  return open !== null;
}
