// What the page knows of the project, and the branches of its sessions as a tree.

import {api} from './api.js';
import {oneAtATime} from './order.js';

/** Events: `sessions` and `project`, when something of them changed. */
class State extends EventTarget {
  project = null;
  sessions = new Map();
  trash = [];
  warnings = [];
  loaded = false;
  error = null;
  meanwhile = null; // what was heard while the sessions are read
  leaving = new Set(); // being deleted: the server would say that they are not there
  loadProject = oneAtATime(() => this.readProject());
  loadSessions = oneAtATime(() => this.readSessions());

  async readProject() {
    try {
      this.project = await api.project();
    } catch (error) {
      this.error = error;
    }
    this.dispatchEvent(new Event('project'));
  }

  setProject(project) {
    this.project = project;
    this.dispatchEvent(new Event('project'));
  }

  async readSessions() {
    const meanwhile = (this.meanwhile = []);
    try {
      const {sessions, trash, warnings} = await api.sessions();
      this.sessions = new Map(sessions.map(s => [s.sessionId, s]));
      this.trash = trash || [];
      this.warnings = warnings || [];
      this.loaded = true;
      this.error = null;
      for (const change of meanwhile) change();
    } catch (error) {
      this.error = error;
    }
    this.meanwhile = null;
    this.dispatchEvent(new Event('sessions'));
  }

  /** A session, or what has changed of one that is known. */
  update(session) {
    const known = this.sessions.get(session.sessionId);
    if (!known && !('title' in session)) {
      this.loadSessions();
      return;
    }
    this.heard(() => {
      this.sessions.set(session.sessionId, {...known, ...session});
      this.trash = this.trash.filter(t => t.sessionId !== session.sessionId);
    });
  }

  forget(ids) {
    this.heard(() => ids.forEach(sessionId => this.sessions.delete(sessionId)));
  }

  /**
   * An answer that is on its way may be older than what is heard now, and would undo it. It may be newer,
   * but then the server says so once more: what is heard comes in order, and the last of it is true.
   */
  heard(change) {
    change();
    this.meanwhile?.push(change);
    this.dispatchEvent(new Event('sessions'));
  }

  get(sessionId) {
    return this.sessions.get(sessionId);
  }

  childrenOf(sessionId) {
    return newestFirst([...this.sessions.values()].filter(s => s.parentSessionId === sessionId));
  }

  /** Sessions without a parent here, by what was done last anywhere below them. */
  roots() {
    const newest = new Map();
    for (const session of this.sessions.values()) {
      const root = this.ancestors(session)[0] || session;
      const at = order(session);
      if (!newest.has(root) || newest.get(root) < at) newest.set(root, at);
    }
    const roots = [...this.sessions.values()].filter(s => !this.parentOf(s));
    return roots.sort((a, b) => newest.get(b).localeCompare(newest.get(a)));
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

/** Two that are being worked in would change places every second: they keep the order in which they began. */
function order(session) {
  return session.busy ? `9999 ${session.created}` : String(session.modified);
}

function newestFirst(sessions) {
  return sessions.sort((a, b) => order(b).localeCompare(order(a)));
}

export const state = new State();
