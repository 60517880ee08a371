// Draws something again, but keeps the nodes that look the same.
//
// The page changes while people use it. If a node is replaced under the pointer, a press that has begun on it
// is lost, and so is selected text in it.

const looks = new WeakMap(); // node -> how it looked when it was made

/** Like `fill`. If nodes have the same `data-part`, only the children that differ are replaced. */
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

/** Changes `old` to look like `node`, which has the same part. Returns `old`. */
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

/**
 * A digest for an attribute of a node that shows its content later, so that the content counts as its look.
 */
export function digest(value) {
  let found = 0;
  for (const character of JSON.stringify(value) ?? '')
    found = (Math.imul(found, 31) + character.codePointAt(0)) | 0;
  return (found >>> 0).toString(36);
}

function lookOf(node) {
  return node.outerHTML ?? node.data;
}
