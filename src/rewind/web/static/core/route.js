// Addresses within the page, so that a reload and the browser's back and forward work.

const encode = encodeURIComponent;

export const to = {
  home: () => '#/',
  session: (id, turn, words) =>
    `#/session/${encode(id)}${turn ? `/${turn}` : ''}${turn && words ? `/${encode(words)}` : ''}`,
  review: (session, turn, last) => `#/review/${encode(session)}/${turn}${last > turn ? `-${last}` : ''}`,
  changes: (from, target) => `#/changes/${encode(from)}/${encode(target)}`,
  files: (name, path) => `#/files/${encode(name || 'now')}${path ? `/${encode(path)}` : ''}`,
  graph: () => '#/graph',
  find: words => `#/find/${encode(words || '')}`,
  checkpoints: name => (name ? `#/checkpoints/${encode(name)}` : '#/checkpoints'),
  compare: (a, b) => `#/compare/${encode(a)}/${encode(b)}`,
};

export function current(hash = location.hash) {
  const [, view, ...rest] = hash.split('/').map(part => {
    try {
      return decodeURIComponent(part);
    } catch (_) {
      return '';
    }
  });
  if (view === 'session' && rest[0])
    return {view, session: rest[0], turn: Number(rest[1]) || null, words: rest[2] || ''};
  if (view === 'checkpoints') return {view, name: rest[0] || null};
  if (view === 'review' && rest[1]) {
    const [turn, last] = rest[1].split('-').map(Number);
    return {view, session: rest[0], turns: [turn || 1, last || turn || 1]};
  }
  if (view === 'changes' && rest[1]) return {view, from: rest[0], target: rest[1]};
  if (view === 'files') return {view, point: rest[0] || 'now', path: rest[1] || null};
  if (view === 'graph') return {view};
  if (view === 'find') return {view, words: rest[0] || ''};
  if (view === 'compare' && rest[1]) return {view, a: rest[0], b: rest[1]};
  return {view: 'home'};
}

export function go(address) {
  if (location.hash === address) window.dispatchEvent(new HashChangeEvent('hashchange'));
  else location.hash = address;
}

/** Changes the address without a new entry for the back button. */
export function replace(address) {
  history.replaceState(null, '', address);
}
