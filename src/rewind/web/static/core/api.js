// The connection to the server. Reads use fetch; actions and pushes use one WebSocket, which reconnects.

class ApiError extends Error {
  constructor({code = 'unknown', message, hint = ''}) {
    super(message || 'Something went wrong.');
    this.code = code;
    this.hint = hint || '';
  }
}

const UNREACHABLE = {
  code: 'unreachable',
  message: 'The Rewind server cannot be reached.',
  hint: 'Start it again with rewind ui in the project.',
};
const NO_KEY = {
  code: 'forbidden',
  message: 'This page has no valid key for the server.',
  hint: 'Run rewind ui and open the address it prints.',
};

async function get(path, query = {}, signal = undefined) {
  const wanted = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    for (const item of Array.isArray(value) ? value : [value]) wanted.append(key, item);
  }
  const asked = String(wanted);
  const address = asked ? `${path}?${asked}` : path;
  let response;
  try {
    response = await fetch(address, {headers: {Accept: 'application/json'}, signal});
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(UNREACHABLE);
  }
  return answerOf(response);
}

async function answerOf(response) {
  let body = null;
  try {
    body = await response.json();
  } catch (_) {
    /* not JSON: the error below names the status */
  }
  if (response.ok && body) return body;
  if (response.status === 403 && !body?.error) throw new ApiError(NO_KEY);
  throw new ApiError(
    body?.error || {
      code: `http-${response.status}`,
      message: `The server answered with an error (${response.status}).`,
      hint: 'Look at the terminal in which rewind ui runs.',
    },
  );
}

const id = encodeURIComponent;
export const api = {
  project: () => get('/api/project'),
  setup: () => get('/api/setup'),
  undoPlan: () => get('/api/operations/undo'),
  redoPlan: () => get('/api/operations/redo'),
  sessions: () => get('/api/sessions'),
  graph: () => get('/api/graph'),
  lanes: () => get('/api/lanes'),
  turns: (session, from, count) => get(`/api/sessions/${id(session)}/turns`, {from, count, render: 'html'}),
  turn: (session, n) => get(`/api/sessions/${id(session)}/turns/${n}`, {render: 'html'}),
  block: (session, n, index) => get(`/api/sessions/${id(session)}/turns/${n}/blocks/${index}`),
  review: query => get('/api/review', query),
  reviewFile: (query, path) => get('/api/review/file', {...query, path}),
  hunkPlan: query => get('/api/review/hunks', query),
  outline: (session, from, count) => get(`/api/sessions/${id(session)}/outline`, {from, count}),
  find: q => get('/api/find', {q}),
  search: (session, q, signal) => get(`/api/sessions/${id(session)}/search`, {q}, signal),
  shape: (session, from) => get(`/api/sessions/${id(session)}/shape`, {from}),
  future: (session, from, count) => get(`/api/sessions/${id(session)}/future`, {from, count, render: 'html'}),
  forwardPlan: session => get(`/api/sessions/${id(session)}/forward`),
  plan: (session, turn, mode) => get(`/api/sessions/${id(session)}/plan`, {turn, mode}),
  files: query => get('/api/files', query),
  fileLog: (path, at) => get('/api/files/log', {path, at}),
  fileBlame: (path, at, from) => get('/api/files/blame', {path, at, from}),
  revertPlan: (session, turn, how) => get(`/api/sessions/${id(session)}/revert`, {turn, how}),
  revertFile: (session, turn, how, path) =>
    get(`/api/sessions/${id(session)}/revert/file`, {turn, how, path}),
  points: (count, upto) => get('/api/checkpoints', {count, upto}),
  compare: (a, b) => get('/api/compare', {a, b, render: 'html'}),
  history: query => get('/api/history', query),
  checkpoints: (before, count, upto) => get('/api/checkpoints', {before, count, upto, changes: 'yes'}),
  diff: (name, to, path) => get(`/api/checkpoints/${id(name)}/diff`, {to, path}),
  checkpointPlan: (name, path) => get(`/api/checkpoints/${id(name)}/plan`, {path}),
};

/** Events: `push` (detail: the message), `up` (detail: {again}, whether it was up before), `down`. */
class Wire extends EventTarget {
  socket = null;
  waiting = new Map();
  requests = 0;
  tries = 0;
  wasUp = false;

  connect() {
    clearTimeout(this.timer);
    const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(`${scheme}//${location.host}/ws`);
    this.socket = socket;
    socket.addEventListener('open', () => this.opened());
    socket.addEventListener('message', event => this.received(event.data));
    socket.addEventListener('close', () => this.closed(socket));
  }

  /** Do not reconnect, because this page has no valid key. */
  stop() {
    clearTimeout(this.timer);
    this.stopped = true;
  }

  get up() {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  request(event, fields = {}) {
    if (!this.up) return Promise.reject(new ApiError(UNREACHABLE));
    this.requests += 1;
    const requestId = `r${this.requests}`;
    return new Promise((resolve, reject) => {
      this.waiting.set(requestId, {resolve, reject});
      this.socket.send(JSON.stringify({event, requestId, ...fields}));
    });
  }

  opened() {
    this.tries = 0;
    this.dispatchEvent(new CustomEvent('up', {detail: {again: this.wasUp}}));
    this.wasUp = true;
  }

  received(data) {
    let message;
    try {
      message = JSON.parse(data);
    } catch (_) {
      return;
    }
    const waiting = message.requestId && this.waiting.get(message.requestId);
    if (!waiting) {
      if (message.event !== 'error') this.dispatchEvent(new CustomEvent('push', {detail: message}));
      return;
    }
    this.waiting.delete(message.requestId);
    if (message.event === 'error') waiting.reject(new ApiError(message));
    else waiting.resolve(message);
  }

  closed(socket) {
    if (socket !== this.socket) return;
    // It is not known whether an unanswered action was done. The lists are read again after a reconnection.
    for (const {reject} of this.waiting.values()) {
      reject(
        new ApiError({
          ...UNREACHABLE,
          message: 'The connection broke before the server answered.',
          hint: 'Check whether it was done before you try again.',
        }),
      );
    }
    this.waiting.clear();
    const wait = Math.min(15000, 500 * 2 ** this.tries);
    this.tries += 1;
    this.dispatchEvent(new Event('down'));
    if (!this.stopped) this.timer = setTimeout(() => this.connect(), wait);
  }
}

/** The one connection of this page. */
export const wire = new Wire();
