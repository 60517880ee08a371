// What is shown if something is empty, loading or failed: a sentence and the next step.

import {fill, h, prose} from '../core/element.js';
import {icon} from './icons.js';
import {copyButton} from './copy.js';

export function emptyState(title, sentence, ...more) {
  return h(
    'div.empty',
    h('div.empty-art', {'aria-hidden': 'true'}, icon('rewind')),
    h('h2', title),
    h('p', sentence),
    ...more,
  );
}

/** A state that fills the whole view. Its title becomes the title of the page. */
export function asPage(state) {
  const title = state.querySelector('h2');
  title.replaceWith(h('h1', {tabindex: '-1'}, title.textContent));
  return state;
}

export function errorState(error, retry) {
  return h(
    'div.empty.failed',
    {role: 'alert'},
    h('div.empty-art', {'aria-hidden': 'true'}, icon('warning')),
    h('h2', error.message),
    error.hint ? h('p', prose(error.hint)) : null,
    retry ? h('button.primary', {onclick: retry}, 'Try again') : null,
  );
}

export function showError(place, error, retry) {
  fill(place, errorState(error, retry));
}

export function loadingState(label, rows = 4) {
  const lines = Array.from({length: rows}, (_, i) =>
    h('div.skeleton', h('i.bone.short'), h('i.bone'), i % 2 ? h('i.bone.medium') : null),
  );
  return h('div.loading', {role: 'status', 'aria-label': label}, h('p.loading-label', label), lines);
}

/**
 * Puts the result of `read` into a place, unless there is none. Until then the place shows the label. If
 * reading fails, it shows why, with a button to try again.
 */
export async function readInto(place, label, rows, read) {
  fill(place, loadingState(label, rows));
  try {
    const found = await read();
    if (found !== undefined) fill(place, found);
  } catch (error) {
    showError(place, error, () => readInto(place, label, rows, read));
  }
}

export function command(text) {
  // The `cd` part is less important, and hidden on a phone. The whole command is copied.
  const [, cd, rest] = /^(cd .*? && )?(.*)$/s.exec(text);
  return h(
    'div.command',
    h('code', {tabindex: '0', title: text}, cd ? h('span.cd.muted', cd) : null, rest),
    copyButton(text, 'Copy the command', 'quiet'),
  );
}

/** An error while reading a small part, with a button to try again. */
export function errorNotice(error, retry = null) {
  const again = retry && h('button.quiet', {onclick: () => retry()}, 'Try again');
  return notice('error', [h('strong', error.message), ' ', error.hint], ...(again ? [again] : []));
}

export function notice(kind, message, ...actions) {
  return h(
    `div.notice.${kind}`,
    icon(kind === 'info' || kind === 'running' ? 'info' : 'warning'),
    h('div.notice-text', message),
    ...actions,
  );
}
