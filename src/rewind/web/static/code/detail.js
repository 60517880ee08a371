// One point of the timeline: what it changed, how it differs from another, and restoring all or some of it.

import {h, fill, freshId, setMember} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {api} from '../core/api.js';
import {state} from '../core/state.js';
import {to} from '../core/route.js';
import {bytes, moment, number, oneLine, plural, sessionTitle} from '../core/format.js';
import {fileList, filesOf} from './diff.js';
import {KINDS} from './points.js';
import {openRestore} from '../plans/restore.js';
import {emptyState, loadingState, showError} from '../parts/states.js';

const MOST_CHOICES = 200;

export class PointDetail {
  /** `others()` returns the points to compare with. `changed()` is called after a restore. */
  constructor(point, others, changed) {
    Object.assign(this, {point, others, changed, chosen: new Set()});
    this.target = point.from && point.name ? 'previous' : 'now';
    this.files = h('div.diff-files');
    this.restore = h('button.primary', {onclick: () => this.openRestore()});
    this.node = h(
      'div.point-detail',
      h(
        'header.detail-head',
        h('div', h('h2', point.title), this.meta()),
        h('div.actions', this.restore, this.restoreAfter()),
      ),
      this.facts(),
      this.targets(),
      this.files,
    );
    this.renderRestore();
    this.load();
  }

  /** The checkpoint to restore. If there is one before and one after, it is the one before. */
  get restored() {
    return this.point.before || this.point.name;
  }

  meta() {
    const {point} = this;
    return h(
      'p.meta',
      h('span', moment(point.at)),
      point.here ? h('span.mark.here', 'you are here') : null,
      point.undone ? h('span', 'undone') : null,
      point.abandoned ? h('span', 'the conversation went on from an earlier turn') : null,
      h('code', this.restored || ''),
    );
  }

  facts() {
    const {point} = this;
    const {checkpoint} = point;
    const session = point.session && state.get(point.session);
    const link = session && h('a', {href: to.session(session.sessionId, point.turn)}, sessionTitle(session));
    return h(
      'dl.facts',
      fact('Kind', KINDS[point.kind]),
      fact('Turn', point.turn && String(point.turn)),
      fact('Trigger', checkpoint && triggerWords(checkpoint.trigger)),
      fact('Files', checkpoint && sizeWords(checkpoint)),
      fact('New data', checkpoint && bytes(checkpoint.newBytes || 0)),
      fact('Conversation', link || (checkpoint?.hasTranscript ? 'saved with it' : null)),
      fact('Checkpoints', point.names.length > 1 && String(point.names.length)),
    );
  }

  targets() {
    const {point} = this;
    if (!point.name && !point.from) return null;
    const id = freshId('target');
    const others = this.others().filter(one => one.name && one.key !== point.key);
    const option = (value, label) => h('option', {value}, label);
    const onchange = event => {
      this.target = event.target.value;
      this.load();
    };
    const select = h(
      'select',
      {id, onchange},
      point.from && point.name ? option('previous', 'what was there before it') : null,
      option('now', 'the files now'),
      others
        .slice(0, MOST_CHOICES)
        .map(one => option(one.name, `${moment(one.at)} – ${oneLine(one.title, 60)}`)),
    );
    this.review = h('a.quiet', 'Review all lines');
    return h('div.target', h('label', {for: id}, 'Compare with'), select, this.review);
  }

  /** [from, to]: the shown difference leads from the first to the second. */
  ends() {
    const {from, name} = this.point;
    if (this.target === 'previous') return [from, name];
    return [name || from, this.target];
  }

  /** With `again`, the shown files stay unless they have changed, because someone may be reading them. */
  async load(again = false) {
    const {target} = this;
    const [from, end] = this.ends();
    if (!from) return fill(this.files);
    this.review?.setAttribute('href', to.changes(from, end));
    if (!again) {
      fill(this.files, loadingState('Comparing', 2));
      this.chosen.clear();
      this.renderRestore();
    }
    try {
      const diff = await api.diff(from, end);
      if (target !== this.target || this.ended) return undefined;
      const files = filesOf(diff);
      const seen = JSON.stringify([from, end, files]);
      if (again && seen === this.seen) return undefined;
      this.seen = seen;
      return fill(this.files, files.length ? this.list(files, from, end) : this.nothing());
    } catch (error) {
      return showError(this.files, error, () => this.load());
    }
  }

  list(files, from, end) {
    const choose = this.target === 'now';
    const words = choose
      ? `${plural(files.length, 'file differs', 'files differ')} now. Select some to restore only those.`
      : this.target === 'previous'
        ? plural(files.length, 'file changed', 'files changed')
        : plural(files.length, 'file differs', 'files differ');
    return [
      h('p.muted.files-words', words),
      fileList(files, from, end, choose ? file => this.box(file) : undefined),
    ];
  }

  nothing() {
    if (this.target === 'previous') return emptyState('Nothing changed', 'No file differs from before it.');
    const words =
      this.target === 'now' ? 'The files are exactly as they were then.' : 'Both hold the same files.';
    return emptyState('No difference', words);
  }

  box(file) {
    return h('input', {
      type: 'checkbox',
      'aria-label': `Restore ${file.path}`,
      onchange: event => {
        setMember(this.chosen, file.path, event.target.checked);
        this.renderRestore();
      },
    });
  }

  renderRestore() {
    const some = this.chosen.size;
    const words = this.point.before ? 'Restore to before it…' : 'Restore…';
    fill(this.restore, icon('rewind'), h('span', some ? `Restore ${plural(some, 'file')}…` : words));
    this.restore.disabled = !this.restored;
  }

  /** Selected files differ from the state after the point, so they are restored from that state. */
  openRestore() {
    const name = this.chosen.size ? this.point.name || this.point.from : this.restored;
    if (name) openRestore({name, description: this.point.title}, [...this.chosen], () => this.done());
  }

  restoreAfter() {
    const {before, name, title} = this.point;
    if (!before || !name) return null;
    return h(
      'button.quiet',
      {onclick: () => openRestore({name, description: title}, [], () => this.done())},
      'to after it…',
    );
  }

  done() {
    if (this.ended) return;
    this.chosen.clear();
    this.seen = null;
    this.renderRestore();
    this.changed();
  }

  /**
   * Files may have changed. Read a comparison with the files now again, unless someone is selecting files.
   */
  refresh() {
    if (this.target === 'now' && !this.chosen.size) this.load(true);
  }

  end() {
    this.ended = true;
  }
}

const TRIGGERS = {
  UserPromptSubmit: 'a prompt',
  Stop: 'the end of a turn',
  PreToolUse: 'a tool, before it ran',
  PostToolUse: 'a tool, after it ran',
  SessionStart: 'the start of a session',
  SessionEnd: 'the end of a session',
  PreCompact: 'a compaction',
  restore: 'a restore',
};

/** What caused the checkpoint: an event, and its prompt. */
function triggerWords(trigger) {
  const event = typeof trigger === 'string' ? trigger : trigger?.event;
  if (!event) return null;
  const words = TRIGGERS[event] || String(event);
  return trigger.promptText ? `${words}: “${oneLine(trigger.promptText, 80)}”` : words;
}

function sizeWords({fileCount, totalSize}) {
  return `${number(fileCount ?? 0)}, ${bytes(totalSize || 0)}`;
}

function fact(name, value) {
  return value ? h('div', h('dt', name), h('dd', value)) : null;
}
