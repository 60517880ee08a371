// What the page knows of the project, and the branches of its sessions as a tree.

import {api} from './api.js';

/** Events: `sessions` and `project`, when something of them changed. */
class State extends EventTarget {
  constructor() {
    super();
    this.project = null;
    this.sessions = new Map();
    this.trash = [];
    this.warnings = [];
    this.loaded = false;
    this.error = null;
    this.withCode = new Set(); // branches made here that restored code
  }

  async loadProject() {
    try {
      this.project = await api.project();
    } catch (error) {
      this.error = error;
    }
    this.dispatchEvent(new Event('project'));
  }

  async loadSessions() {
    try {
      const {sessions, trash, warnings} = await api.sessions();
      this.sessions = new Map(sessions.map(s => [s.sessionId, s]));
      this.trash = trash || [];
      this.warnings = warnings || [];
      this.loaded = true;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
    this.dispatchEvent(new Event('sessions'));
  }

  update(session) {
    this.sessions.set(session.sessionId, session);
    this.trash = this.trash.filter(t => t.sessionId !== session.sessionId);
    this.dispatchEvent(new Event('sessions'));
  }

  forget(ids) {
    for (const sessionId of ids) this.sessions.delete(sessionId);
    this.dispatchEvent(new Event('sessions'));
  }

  get(sessionId) {
    return this.sessions.get(sessionId);
  }

  childrenOf(sessionId) {
    return newestFirst([...this.sessions.values()].filter(s => s.parentSessionId === sessionId));
  }

  /** Sessions without a parent here; a branch whose parent is gone stands for itself. */
  roots() {
    return newestFirst([...this.sessions.values()].filter(s => !this.parentOf(s)));
  }

  parentOf(session) {
    return session.parentSessionId ? this.sessions.get(session.parentSessionId) : undefined;
  }

  /** From the root down to the parent. A loop in the records ends the walk. */
  ancestors(session) {
    const found = [];
    const seen = new Set([session.sessionId]);
    for (let at = this.parentOf(session); at && !seen.has(at.sessionId); at = this.parentOf(at)) {
      seen.add(at.sessionId);
      found.unshift(at);
    }
    return found;
  }
}

function newestFirst(sessions) {
  return sessions.sort((a, b) => String(b.modified).localeCompare(String(a.modified)));
}

export const state = new State();
