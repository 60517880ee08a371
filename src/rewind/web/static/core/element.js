// Builds DOM nodes. Strings always become text: nothing here parses HTML.

const SVG = 'http://www.w3.org/2000/svg';

/** h('button.primary', {onclick: f}, 'Text', node, null). Attributes may be left out. */
export function h(spec, ...content) {
  const [tag, ...classes] = spec.split('.');
  const node = document.createElement(tag || 'div');
  if (classes.length) node.className = classes.join(' ');
  if (tag === 'button') node.setAttribute('type', 'button'); // none of them sends a form
  if (content[0]?.constructor === Object) set(node, content.shift());
  return add(node, content);
}

export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  add(node, children);
  return node;
}

export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) node.removeAttribute(name);
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'value' || name === 'checked') node[name] = value;
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  return node;
}

export function add(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

export function fill(node, ...children) {
  node.replaceChildren();
  return add(node, children);
}

/** A list. `make` makes the content of each item. */
export function listOf(spec, items, make) {
  return h(
    spec,
    items.map((item, n) => h('li', make(item, n))),
  );
}

/** Runs `change`, then scrolls as before and puts the focus on the element with the same `data-key`. */
export function inPlace(host, change) {
  const active = document.activeElement;
  const key = host.contains(active) ? active.dataset.key : undefined;
  const top = host.scrollTop;
  change();
  host.scrollTop = top;
  if (key !== undefined && !host.contains(document.activeElement))
    host.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({preventScroll: true});
}

/** Marks the current item of a list. */
export function setCurrent(node, on) {
  set(node, {'aria-current': on ? 'true' : null});
}

/** Adds an item to a set or removes it. */
export function setMember(set, item, on) {
  if (on) set.add(item);
  else set.delete(item);
}

/** A message of Rewind. Text between backticks becomes code. */
export function prose(text) {
  return String(text ?? '')
    .split('`')
    .map((part, at) => (at % 2 ? h('code', part) : part));
}

let count = 0;
export function freshId(prefix) {
  count += 1;
  return `${prefix}-${count}`;
}

/**
 * A button that cannot be used now can still be focused and pressed. The reason is its title and its
 * accessible description, and a press shows it as a message.
 */
export function button(spec, {label, reason = null, onclick, ...more}, ...children) {
  const node = h(`button.${spec}`, {'aria-label': label, ...more}, ...children);
  node.addEventListener('click', event => {
    if (node.getAttribute('aria-disabled') !== 'true') return onclick(event);
    event.stopPropagation();
    return document.dispatchEvent(new CustomEvent('rewind:refused', {detail: node.title}));
  });
  return setReason(node, reason);
}

/** Changes whether a button can be used. The element stays, so it keeps the focus. */
export function setReason(node, reason) {
  return set(node, {'aria-disabled': reason ? 'true' : null, title: reason, 'aria-description': reason});
}
