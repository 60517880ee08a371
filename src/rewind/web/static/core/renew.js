// Shows something anew and leaves alone what looks the same.
//
// The page changes by itself while people use it. A node that is made again under the pointer loses the press
// that has begun on it, and the text that was selected in it.

const looks = new WeakMap(); // node -> how it looked when it was made

/** Like `fill`. Nodes with the same `data-part` are the same thing: only the children that differ change. */
export function renew(host, ...children) {
  const old = [...host.childNodes];
  const next = children
    .flat(Infinity)
    .filter(child => child instanceof Node)
    .map(node => kept(node, old));
  for (const gone of old) gone.remove();
  next.forEach((node, at) => {
    if (host.childNodes[at] !== node) host.insertBefore(node, host.childNodes[at] ?? null);
  });
}

/** `node` takes the place of `old`, which has the same part; returns what is there now. */
export function renewNode(old, node) {
  for (const name of old.getAttributeNames()) if (!node.hasAttribute(name)) old.removeAttribute(name);
  for (const {name, value} of node.attributes)
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  renew(old, [...node.childNodes]);
  return old;
}

function kept(node, old) {
  const look = lookOf(node);
  looks.set(node, look);
  const same = old.findIndex(one => (looks.get(one) ?? lookOf(one)) === look);
  if (same >= 0) return old.splice(same, 1)[0];
  const part = node.dataset?.part;
  const alike = part ? old.findIndex(one => one.dataset?.part === part && one.tagName === node.tagName) : -1;
  if (alike < 0) return node;
  const [found] = old.splice(alike, 1);
  looks.set(found, look);
  return renewNode(found, node);
}

/** For a node that shows its content only later: as an attribute, this makes that part of its looks. */
export function digest(value) {
  let found = 0;
  for (const character of JSON.stringify(value) ?? '')
    found = (Math.imul(found, 31) + character.codePointAt(0)) | 0;
  return (found >>> 0).toString(36);
}

function lookOf(node) {
  return node.outerHTML ?? node.data;
}
