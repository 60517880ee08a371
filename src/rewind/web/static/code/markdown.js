// Markdown as DOM nodes, from text that nobody vouches for: text goes in by textContent only,
// images are not fetched, and links lead to http, https and mailto alone.

import {h} from '../core/element.js';
import {highlight, languageOf} from './highlight.js';
import {copyButton} from '../parts/copy.js';

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^ {0,3}>\s?(.*)$/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
const DEEPEST = 12;
// Past these lengths the patterns cost more than the markup is worth.
const LONGEST_TEXT = 200000,
  LONGEST_SPAN = 8000;

export function markdown(text) {
  const root = h('div.md');
  if (text.length > LONGEST_TEXT) return h('pre.plain', {}, text);
  root.append(...blocks(String(text).replace(/\r\n?/g, '\n').split('\n'), 0));
  return root;
}

function blocks(lines, depth) {
  const nodes = [];
  let at = 0;
  while (at < lines.length) {
    if (!lines[at].trim()) {
      at += 1;
      continue;
    }
    const [node, next] = block(lines, at, depth);
    nodes.push(node);
    at = next;
  }
  return nodes;
}

function block(lines, at, depth) {
  const line = lines[at];
  const fence = FENCE.exec(line);
  if (fence) return fenced(lines, at, fence);
  const heading = HEADING.exec(line);
  // Below the page's own headings: a turn is a section of level 3.
  if (heading) return [h(`h${Math.min(6, heading[1].length + 3)}`, {}, inline(heading[2])), at + 1];
  if (RULE.test(line)) return [h('hr'), at + 1];
  if (depth < DEEPEST && QUOTE.test(line)) return quote(lines, at, depth);
  if (depth < DEEPEST && ITEM.test(line)) return list(lines, at, depth);
  if (line.includes('|') && TABLE_RULE.test(lines[at + 1] || '') && lines[at + 1].includes('-'))
    return table(lines, at);
  return paragraph(lines, at);
}

function fenced(lines, at, fence) {
  const end = new RegExp(`^ {0,3}${fence[1][0] === '`' ? '`' : '~'}{${fence[1].length},}\\s*$`);
  let last = at + 1;
  while (last < lines.length && !end.test(lines[last])) last += 1;
  return [codeBlock(lines.slice(at + 1, last).join('\n'), fence[2]), last + 1];
}

export function codeBlock(code, language = '') {
  const known = languageOf(language);
  return h(
    'div.code',
    {},
    h(
      'div.code-head',
      {},
      h('span', {}, language.slice(0, 20) || 'text'),
      copyButton(code, 'Copy this code'),
    ),
    h('pre', {tabindex: '0', 'aria-label': 'Code'}, h('code', {}, highlight(code, known))),
  );
}

function quote(lines, at, depth) {
  const inner = [];
  let last = at;
  while (last < lines.length && QUOTE.test(lines[last])) inner.push(QUOTE.exec(lines[last++])[1]);
  return [h('blockquote', {}, blocks(inner, depth + 1)), last];
}

function list(lines, at, depth) {
  const first = ITEM.exec(lines[at]);
  const base = first[1].length;
  const ordered = /\d/.test(first[2]);
  const node = h(ordered ? 'ol' : 'ul', ordered ? {start: parseInt(first[2], 10)} : {});
  let last = at;
  while (last < lines.length) {
    const item = ITEM.exec(lines[last]);
    if (!item || item[1].length > base + 1 || item[1].length < base || /\d/.test(item[2]) !== ordered) break;
    const inner = [item[3]];
    const within = item[0].length - item[3].length;
    last += 1;
    while (last < lines.length && belongs(lines, last, base)) {
      const indent = lines[last].length - lines[last].trimStart().length;
      inner.push(lines[last].slice(Math.min(within, indent)));
      last += 1;
    }
    node.append(listItem(inner, depth));
  }
  return [node, last];
}

/** Whether a line still is part of the item above: indented, or a blank line before an indented one. */
function belongs(lines, at, base) {
  const line = lines[at];
  if (!line.trim())
    return at + 1 < lines.length && /^\s/.test(lines[at + 1]) && indentOf(lines[at + 1]) > base;
  if (indentOf(line) > base) return true;
  return (
    !ITEM.test(line) && !HEADING.test(line) && !FENCE.test(line) && !RULE.test(line) && !!lines[at - 1].trim()
  );
}

function indentOf(line) {
  return line.length - line.trimStart().length;
}

function listItem(inner, depth) {
  const task = /^\[([ xX])\]\s+(.*)$/.exec(inner[0]);
  if (task) inner[0] = task[2];
  const nodes = blocks(inner, depth + 1);
  const simple = nodes[0]?.tagName === 'P' ? [...nodes[0].childNodes, ...nodes.slice(1)] : nodes;
  if (!task) return h('li', {}, simple);
  const done = task[1] !== ' ';
  return h(
    'li.task',
    {},
    h(`span.task-box${done ? '.done' : ''}`, {role: 'img', 'aria-label': done ? 'done' : 'open'}),
    simple,
  );
}

function table(lines, at) {
  const head = cells(lines[at]);
  let last = at + 2;
  const body = h('tbody');
  while (last < lines.length && lines[last].includes('|') && lines[last].trim()) {
    const row = cells(lines[last]);
    body.append(
      h(
        'tr',
        {},
        head.map((_, i) => h('td', {}, inline(row[i] || ''))),
      ),
    );
    last += 1;
  }
  const node = h(
    'table',
    {},
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        head.map(c => h('th', {}, inline(c))),
      ),
    ),
    body,
  );
  return [h('div.table', {tabindex: '0', role: 'region', 'aria-label': 'Table'}, node), last];
}

function cells(line) {
  return line
    .trim()
    .replace(/^\|/, '')
    .replace(/\|$/, '')
    .split(/(?<!\\)\|/)
    .map(c => c.trim().replaceAll('\\|', '|'));
}

function paragraph(lines, at) {
  const found = [];
  let last = at;
  while (last < lines.length && lines[last].trim()) {
    if (last > at && startsOther(lines, last)) break;
    found.push(lines[last].trim());
    last += 1;
  }
  return [h('p', {}, inline(found.join('\n'))), last];
}

function startsOther(lines, at) {
  const line = lines[at];
  return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);
}

const INLINE =
  /(`+)([\s\S]+?)\1(?!`)|\*\*([^\s*](?:[\s\S]*?[^\s])?)\*\*|__([^\s_](?:[\s\S]*?[^\s])?)__(?!\w)|(?<![\w*])\*([^\s*](?:[^*]*?[^\s*])?)\*(?!\w)|(?<!\w)_([^\s_](?:[^_]*?[^\s_])?)_(?!\w)|~~([^~]+)~~|!?\[([^\]\n]*)\]\(<?((?:[^\s()<>]|\([^\s()<>]*\))+)>?(?:\s+"[^"]*")?\)|(https?:\/\/[^\s<>"'`)\]]+[^\s<>"'`)\].,;:!?])/;

function inline(text, depth = 0) {
  const nodes = [];
  let rest = text;
  while (rest) {
    const match = depth < DEEPEST && rest.length < LONGEST_SPAN ? INLINE.exec(rest) : null;
    if (!match) break;
    nodes.push(rest.slice(0, match.index), inlineNode(match, depth));
    rest = rest.slice(match.index + match[0].length);
  }
  nodes.push(rest);
  return nodes.filter(n => n !== '');
}

function inlineNode(match, depth) {
  const [whole, , code, strong, strong2, em, em2, struck, label, target, bare] = match;
  if (code !== undefined) return h('code', {}, code.trim() ? code.replace(/^ (.*) $/, '$1') : code);
  if (strong ?? strong2) return h('strong', {}, inline(strong ?? strong2, depth + 1));
  if (em ?? em2) return h('em', {}, inline(em ?? em2, depth + 1));
  if (struck) return h('del', {}, inline(struck, depth + 1));
  if (bare) return link(bare, [bare]);
  return whole.startsWith('!')
    ? link(target, [label || target])
    : link(target, inline(label || target, depth + 1));
}

function link(target, content) {
  if (!/^(https?:\/\/|mailto:)/i.test(target)) return h('span.dead-link', {title: target}, content);
  return h('a', {href: target, target: '_blank', rel: 'noopener noreferrer'}, content);
}
