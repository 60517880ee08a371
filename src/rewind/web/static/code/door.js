// The only way in which HTML from the server gets into the page. Allowed elements, which are those that the
// server's renderer makes, are created again one by one. Of anything else, only the text remains, or nothing.

const TAGS = new Set(
  (
    'P H3 H4 H5 H6 UL OL LI STRONG EM S DEL CODE PRE SPAN DIV A BLOCKQUOTE ' +
    'TABLE THEAD TBODY TR TH TD HR BR'
  ).split(' '),
);
const DROPPED = new Set(['SCRIPT', 'STYLE', 'TEMPLATE', 'IFRAME', 'OBJECT', 'EMBED', 'NOSCRIPT']);
const PLAIN = new Set(['title', 'start', 'tabindex', 'role', 'aria-label']);
const CLASS = /^[\w -]{1,80}$/;
const LINK = /^(https?:\/\/|mailto:)/i;

// Because of the server's policy, browsers with trusted types refuse every other way to parse HTML.
const policy = globalThis.trustedTypes?.createPolicy('rewind', {createHTML: text => text});

/** A fragment with the allowed elements. The parser runs no scripts and fetches nothing. */
export function fromServer(html) {
  const text = `<body>${html ?? ''}`; // without <body>, the parser would drop blanks at the beginning
  const parsed = new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, 'text/html');
  const found = document.createDocumentFragment();
  for (const node of parsed.body.childNodes) pass(node, found);
  return found;
}

function pass(node, host) {
  if (node.nodeType === Node.TEXT_NODE) host.append(node.data);
  if (node.nodeType !== Node.ELEMENT_NODE || DROPPED.has(node.tagName.toUpperCase())) return;
  const made = TAGS.has(node.tagName) ? document.createElement(node.tagName) : host;
  if (made !== host) {
    for (const {name, value} of node.attributes) allow(made, name, value);
    host.append(made);
  }
  for (const child of node.childNodes) pass(child, made);
}

function allow(made, name, value) {
  if (PLAIN.has(name) || (name === 'class' && CLASS.test(value))) made.setAttribute(name, value);
  if (name !== 'href' || made.tagName !== 'A' || !LINK.test(value)) return;
  made.setAttribute('href', value);
  made.setAttribute('target', '_blank');
  made.setAttribute('rel', 'noopener noreferrer');
}
