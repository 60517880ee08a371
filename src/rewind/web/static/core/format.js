// Numbers, sizes, times and paths as people read them.

import {state} from './state.js';

const MINUTE = 60e3,
  HOUR = 60 * MINUTE,
  DAY = 24 * HOUR;

export function plural(n, one, many = `${one}s`) {
  return `${number(n)} ${n === 1 ? one : many}`;
}

export function number(n) {
  return Number(n).toLocaleString('en');
}

export function bytes(n) {
  if (!Number.isFinite(n)) return '–';
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let unit = 0;
  let value = n;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits)} ${units[unit]}`;
}

export function age(iso, now = Date.now()) {
  const then = Date.parse(iso);
  if (Number.isNaN(then)) return '';
  const past = Math.max(0, now - then);
  if (past < MINUTE) return 'just now';
  if (past < HOUR) return `${Math.floor(past / MINUTE)} min ago`;
  if (past < DAY) return `${Math.floor(past / HOUR)} h ago`;
  if (past < 2 * DAY) return 'yesterday';
  if (past < 30 * DAY) return `${Math.floor(past / DAY)} days ago`;
  return day(iso);
}

export function clock(iso) {
  const then = new Date(iso);
  return Number.isNaN(then.getTime())
    ? ''
    : then.toLocaleTimeString('en', {hour: '2-digit', minute: '2-digit', hour12: false});
}

export function day(iso, now = new Date()) {
  const then = new Date(iso);
  if (Number.isNaN(then.getTime())) return '';
  if (then.toDateString() === now.toDateString()) return 'Today';
  const year = then.getFullYear() === now.getFullYear() ? {} : {year: 'numeric'};
  return then.toLocaleDateString('en', {day: 'numeric', month: 'long', ...year});
}

export function moment(iso) {
  return day(iso) && `${day(iso)}, ${clock(iso)}`;
}

/** How long something took. */
export function duration(seconds) {
  if (typeof seconds !== 'number' || !(seconds >= 0)) return '';
  if (seconds < 1) return '< 1 s';
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A text in which paths within the project are relative to it. */
export function inProject(text) {
  const root = state.project?.root;
  return root ? String(text ?? '').replaceAll(`${root}/`, '') : String(text ?? '');
}

/** Replaces invisible characters by their codes: `\u202e` would show `gpj.exe` as `exe.jpg`. */
export function visible(text) {
  return String(text ?? '').replace(
    /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu,
    c => (c > '\xff' ? '\\u' : '\\x') + c.codePointAt(0).toString(16).padStart(c > '\xff' ? 4 : 2, '0'),
  );
}

/** The text as one line, cut at a length. */
export function oneLine(text, length = 120) {
  const line = visible(String(text ?? '').replace(/\s+/g, ' ').trim());
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

export function sessionTitle(session) {
  return oneLine(session.name || session.title || '', 140) || 'Untitled session';
}
