// Colours code by kinds of words. Small on purpose: comments, strings, numbers, keywords, nothing that parses.

const WORDS = {
  python:
    'and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield None True False self',
  javascript:
    'async await break case catch class const continue default delete do else export extends finally for from function if import in instanceof interface let new null of return static super switch this throw true false try type typeof undefined var void while yield enum implements readonly',
  shell:
    'case do done elif else esac export fi for function if in local return set then unset until while cd echo exit source sudo',
  go: 'break case chan const continue default defer else fallthrough for func go goto if import interface map nil package range return select struct switch true false type var error string int bool',
  rust: 'as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while Some None Ok Err',
  c: 'auto bool break case catch char class const continue default delete do double else enum extern false final float for goto if inline int long namespace new nullptr null override private protected public return short signed sizeof static struct switch template this throw true try typedef union unsigned using virtual void volatile while import package String',
  sql: 'select from where and or not insert into values update set delete create table index view drop alter join left right inner outer on group by order having limit as null is in distinct primary key default begin commit',
  json: 'true false null',
  css: 'important',
};
const HASH = '#[^\\n]*',
  SLASH = '\\/\\/[^\\n]*|\\/\\*[\\s\\S]*?(?:\\*\\/|$)';
const COMMENT = {
  python: HASH,
  shell: HASH,
  yaml: HASH,
  toml: HASH,
  ruby: HASH,
  javascript: SLASH,
  go: SLASH,
  rust: SLASH,
  c: SLASH,
  css: '\\/\\*[\\s\\S]*?(?:\\*\\/|$)',
  sql: '--[^\\n]*',
};
const ALIAS = {
  py: 'python',
  js: 'javascript',
  mjs: 'javascript',
  jsx: 'javascript',
  ts: 'javascript',
  tsx: 'javascript',
  typescript: 'javascript',
  sh: 'shell',
  bash: 'shell',
  zsh: 'shell',
  console: 'shell',
  rs: 'rust',
  golang: 'go',
  cpp: 'c',
  'c++': 'c',
  h: 'c',
  java: 'c',
  cs: 'c',
  kotlin: 'c',
  swift: 'c',
  php: 'c',
  yml: 'yaml',
  jsonc: 'json',
  scss: 'css',
};
const STRING =
  '"""[\\s\\S]*?(?:"""|$)|"(?:\\\\.|[^"\\\\\\n])*"?|\'(?:\\\\.|[^\'\\\\\\n])*\'?|`(?:\\\\.|[^`\\\\])*`?';
const LONGEST = 40000;

export function languageOf(name) {
  const key = String(name || '').toLowerCase();
  const found = ALIAS[key] || key;
  return found in WORDS || found in COMMENT || found === 'diff' ? found : '';
}

export function languageOfPath(path) {
  return languageOf(path.split('.').pop());
}

/** The nodes of highlighted code: text and spans. */
export function highlight(code, language) {
  if (language === 'diff') return diffLines(code);
  if (!language || code.length > LONGEST) return [document.createTextNode(code)];
  const words = new Set((WORDS[language] || '').split(' '));
  const comment = COMMENT[language] || '(?!)';
  const pattern = new RegExp(`(${comment})|(${STRING})|(\\b\\d[\\w.]*)|([A-Za-z_$][\\w$]*)`, 'g');
  const nodes = [];
  let at = 0;
  for (const match of code.matchAll(pattern)) {
    const kind = kindOf(match, words, language);
    if (!kind) continue;
    if (match.index > at) nodes.push(document.createTextNode(code.slice(at, match.index)));
    nodes.push(span(kind, match[0]));
    at = match.index + match[0].length;
  }
  nodes.push(document.createTextNode(code.slice(at)));
  return nodes;
}

function kindOf(match, words, language) {
  if (match[1]) return 'hl-comment';
  if (match[2]) return 'hl-string';
  if (match[3]) return 'hl-number';
  const word = language === 'sql' ? match[4].toLowerCase() : match[4];
  return words.has(word) ? 'hl-word' : '';
}

function diffLines(code) {
  return code.split(/(?<=\n)/).map(line => {
    const kind = line.startsWith('+')
      ? 'hl-added'
      : line.startsWith('-')
        ? 'hl-removed'
        : line.startsWith('@@')
          ? 'hl-comment'
          : '';
    return kind ? span(kind, line) : document.createTextNode(line);
  });
}

function span(kind, text) {
  const node = document.createElement('span');
  node.className = kind;
  node.textContent = text;
  return node;
}
