// What the page knows about the project, and the tree of its sessions and branches.

import {api} from './api.js';
import {oneAtATime} from './order.js';

/** Events: `sessions` and `project`, when they changed. */
class State extends EventTarget {
  project = null;
  sessions = new Map();
  trash = [];
  warnings = [];
  loaded = false;
  error = null;
  meanwhile = null; // changes that were pushed while the sessions are read
  beingDeleted = new Set(); // do not read these: the server would answer that they do not exist
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

  /** A new session, or changed fields of a known one. */
  update(session) {
    const known = this.sessions.get(session.sessionId);
    if (!known && !('title' in session)) {
      this.loadSessions();
      return;
    }
    this.apply(() => {
      this.sessions.set(session.sessionId, {...known, ...session});
      this.trash = this.trash.filter(t => t.sessionId !== session.sessionId);
    });
  }

  forget(ids) {
    this.apply(() => ids.forEach(sessionId => this.sessions.delete(sessionId)));
  }

  /**
   * Applies a pushed change now, and once more after a reading that is in progress, whose answer may be
   * older. If the answer is newer, the server will push that newer state as well: pushes come in order.
   */
  apply(change) {
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

  /** Sessions without a known parent, sorted by the newest change in them or their branches. */
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

  /** All ancestors from the root to the parent. A loop in the records ends the list. */
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

/**
 * The sort key. Sessions with a running turn are sorted by their beginning, so that they do not swap often.
 */
function order(session) {
  return session.busy ? `9999 ${session.created}` : String(session.modified);
}

function newestFirst(sessions) {
  return sessions.sort((a, b) => order(b).localeCompare(order(a)));
}

export const state = new State();
