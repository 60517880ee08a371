// The timeline of checkpoints: look at one, compare it with another or with now, restore all or some of it.

import {h, fill, freshId} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {api} from '../core/api.js';
import {oneAtATime} from '../core/order.js';
import {state} from '../core/state.js';
import {replace, to} from '../core/route.js';
import {act} from '../sessions/branches.js';
import {bytes, clock, day, moment, number, oneLine, plural, sessionTitle} from '../core/format.js';
import {askName} from '../parts/modal.js';
import {counts, fileList, filesOf} from './diff.js';
import {openRedo, openRestore, openUndo} from '../plans/restore.js';
import {storageView} from '../parts/storage.js';
import {emptyState, errorState, loadingState} from '../parts/states.js';
import {say} from '../parts/toast.js';

const PAGE = 60;
const KINDS = {manual: 'Manual', initial: 'First', backup: 'Backup', auto: 'Automatic'};

export class CheckpointsView {
  constructor(host, name) {
    Object.assign(this, {host, name, points: [], total: 0, chosen: new Set(), target: 'now'});
    this.timeline = h('div.timeline', {role: 'region', 'aria-label': 'Timeline'});
    this.detail = h('div.detail');
    this.stats = h('div.stats');
    this.reload = oneAtATime(() => this.readAgain());
    this.onProject = () => {
      this.renderStats();
      this.renderSteps();
    };
    state.addEventListener('project', this.onProject);
    document.title = 'Checkpoints – Rewind';
    this.load();
  }

  get title() {
    return 'Checkpoints';
  }

  head() {
    return h(
      'header.session-head',
      {},
      h(
        'div.title-row',
        {},
        h('h1', {tabindex: '-1'}, 'Checkpoints'),
        h('span.grow'),
        h(
          'div.actions',
          {},
          this.step('Undo restore', 'canUndo', openUndo),
          this.step('Redo', 'canRedo', openRedo),
          h(
            'button.outline-button',
            {type: 'button', onclick: () => this.save()},
            icon('diamond'),
            h('span', {}, 'Save checkpoint'),
          ),
        ),
      ),
    );
  }

  /** A button that names its operation, and is disabled when there is none. */
  step(label, key, open) {
    const about = state.project?.[key];
    return h(
      'button.quiet',
      {
        type: 'button',
        disabled: !about,
        'data-step': key,
        title: about ? about.text : 'There is nothing to do.',
        onclick: () => open(() => this.reload()),
      },
      label,
    );
  }

  async load() {
    fill(this.host, this.head(), loadingState('Reading the checkpoints'));
    try {
      const page = await api.checkpoints(undefined, PAGE, this.name || undefined);
      if (this.ended) return;
      this.points = page.checkpoints;
      this.total = page.total;
      this.show();
    } catch (error) {
      if (!this.ended)
        fill(
          this.host,
          this.head(),
          errorState(error, () => this.load()),
        );
    }
  }

  show() {
    if (!this.points.length) {
      fill(
        this.host,
        this.head(),
        emptyState(
          'No checkpoints yet',
          'Save one now, or let the agent work: Rewind saves one before each prompt.',
        ),
      );
      return;
    }
    fill(
      this.host,
      this.head(),
      h('div.checkpoints', {}, h('div.timeline-side', {}, this.stats, this.timeline), this.detail),
    );
    this.renderStats();
    this.renderTimeline();
    // On a phone the list comes first, and a checkpoint is opened by a tap.
    if (this.name || matchMedia('(min-width: 900px)').matches) this.open(this.name || this.points[0].name);
  }

  renderStats() {
    fill(this.stats, storageView(state.project?.storage, this.points));
  }

  renderTimeline() {
    const top = this.timeline.scrollTop;
    const focused = this.timeline.contains(document.activeElement)
      ? document.activeElement.dataset.name
      : null;
    const groups = [];
    for (const point of this.points) {
      const label = day(point.createdAt);
      if (groups.at(-1)?.label !== label) groups.push({label, points: []});
      groups.at(-1).points.push(point);
    }
    fill(
      this.timeline,
      groups.map(g =>
        h(
          'section',
          {},
          h('h2.day', {}, g.label),
          h(
            'ol',
            {},
            g.points.map(p => h('li', {}, this.row(p))),
          ),
        ),
      ),
      this.points.length < this.total
        ? h(
            'button.quiet.more',
            {type: 'button', onclick: () => this.loadMore()},
            `Show earlier (${number(this.total - this.points.length)} more)`,
          )
        : null,
    );
    this.timeline.scrollTop = top;
    if (focused)
      this.timeline.querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus({preventScroll: true});
  }

  row(point) {
    const current = point.name === this.name;
    return h(
      `button.point.kind-${KINDS[point.kind] ? point.kind : 'manual'}${current ? '.current' : ''}`,
      {
        type: 'button',
        'aria-current': current ? 'true' : null,
        'data-name': point.name,
        onclick: () => this.open(point.name, true),
      },
      h('span.point-mark', {'aria-hidden': 'true'}),
      h(
        'span.point-text',
        {},
        h('span.clip', {}, oneLine(point.description, 140) || KINDS[point.kind] || point.kind),
        h(
          'span.row-meta',
          {},
          h('time', {datetime: point.createdAt}, clock(point.createdAt)),
          h('span', {}, KINDS[point.kind] || point.kind),
          h('span', {}, plural(point.fileCount ?? 0, 'file')),
          point.changes?.files ? h('span', {}, counts(point.changes.added, point.changes.removed)) : null,
          point.newBytes ? h('span', {}, `+${bytes(point.newBytes)}`) : null,
        ),
      ),
    );
  }

  async loadMore() {
    try {
      const page = await api.checkpoints(this.points.at(-1).sequence, PAGE);
      this.points.push(...page.checkpoints);
      this.renderTimeline();
    } catch (error) {
      say(error.message, {kind: 'error', hint: error.hint});
    }
  }

  // one checkpoint

  open(name, byHand = false) {
    const point = this.points.find(p => p.name === name);
    this.name = point ? name : null;
    this.chosen.clear();
    this.target = 'now';
    for (const row of this.timeline.querySelectorAll('.point')) {
      const on = row.dataset.name === this.name;
      row.classList.toggle('current', on);
      if (on) row.setAttribute('aria-current', 'true');
      else row.removeAttribute('aria-current');
      if (on && !byHand) row.scrollIntoView({block: 'nearest'});
    }
    if (!point)
      return fill(
        this.detail,
        emptyState(
          'This checkpoint is not in the list',
          'It may be older than those shown, or it was removed to keep the budget.',
        ),
      );
    if (byHand) replace(to.checkpoints(name));
    this.host.querySelector('.checkpoints').dataset.open = 'yes';
    this.renderDetail(point);
    return undefined;
  }

  renderDetail(point) {
    const session = point.sessionId && state.get(point.sessionId);
    this.files = h('div.diff-files');
    this.restore = h('button.primary', {type: 'button', onclick: () => this.openRestore(point)});
    fill(
      this.detail,
      h(
        'button.quiet.to-list',
        {type: 'button', onclick: () => this.closeDetail()},
        icon('back'),
        'Timeline',
      ),
      h(
        'header.detail-head',
        {},
        h(
          'div',
          {},
          h('h2', {}, oneLine(point.description, 200) || KINDS[point.kind]),
          h('p.meta', {}, h('code', {}, point.name), h('span', {}, moment(point.createdAt))),
        ),
        this.restore,
      ),
      h(
        'dl.facts',
        {},
        fact('Kind', KINDS[point.kind] || point.kind),
        fact('Trigger', triggerWords(point.trigger)),
        fact('Files', `${number(point.fileCount ?? 0)}, ${bytes(point.totalSize || 0)}`),
        fact('New data', bytes(point.newBytes || 0)),
        fact(
          'Conversation',
          session
            ? h('a', {href: to.session(session.sessionId)}, sessionTitle(session))
            : point.hasTranscript
              ? 'saved with it'
              : 'none',
        ),
      ),
      this.targets(point),
      this.files,
    );
    this.renderRestore();
    this.loadDiff(point);
  }

  closeDetail() {
    delete this.host.querySelector('.checkpoints').dataset.open;
    this.timeline.querySelector('.current')?.focus();
  }

  targets(point) {
    const id = freshId('target');
    const choices = this.points.filter(p => p.name !== point.name).slice(0, 200);
    return h(
      'div.target',
      {},
      h('label', {for: id}, 'Changes from this checkpoint to'),
      h(
        'select',
        {
          id,
          onchange: event => {
            this.target = event.target.value;
            this.loadDiff(point);
          },
        },
        h('option', {value: 'now'}, 'the files now'),
        choices.map(p =>
          h('option', {value: p.name}, `${moment(p.createdAt)} – ${oneLine(p.description, 60) || p.kind}`),
        ),
      ),
    );
  }

  /** `again`: what is shown stays unless it has changed, for someone may be reading it. */
  async loadDiff(point, again = false) {
    const target = this.target;
    if (!again) {
      fill(this.files, loadingState('Comparing', 2));
      this.chosen.clear();
      this.renderRestore();
    }
    try {
      const diff = await api.diff(point.name, target);
      if (target !== this.target || this.name !== point.name || this.ended) return;
      const files = filesOf(diff);
      const seen = JSON.stringify([point.name, target, files]);
      if (again && seen === this.seen) return;
      this.seen = seen;
      const words =
        target === 'now'
          ? `${plural(files.length, 'file differs', 'files differ')}. Select some to restore only those.`
          : plural(files.length, 'file differs', 'files differ');
      fill(
        this.files,
        files.length
          ? [
              h('p.muted.files-words', {}, words),
              fileList(files, point.name, target, target === 'now' ? file => this.box(file) : undefined),
            ]
          : emptyState(
              'No difference',
              target === 'now'
                ? 'The files are exactly as in this checkpoint.'
                : 'Both checkpoints hold the same files.',
            ),
      );
    } catch (error) {
      fill(
        this.files,
        errorState(error, () => this.loadDiff(point)),
      );
    }
  }

  box(file) {
    return h('input', {
      type: 'checkbox',
      'aria-label': `Restore ${file.path}`,
      onchange: event => {
        if (event.target.checked) this.chosen.add(file.path);
        else this.chosen.delete(file.path);
        this.renderRestore();
      },
    });
  }

  renderRestore() {
    fill(
      this.restore,
      icon('rewind'),
      h('span', {}, this.chosen.size ? `Restore ${plural(this.chosen.size, 'file')}…` : 'Restore…'),
    );
  }

  openRestore(point) {
    openRestore(point, [...this.chosen], () => this.restored());
  }

  restored() {
    if (this.ended) return;
    this.chosen.clear();
    this.seen = null;
    this.renderRestore();
    this.reload();
  }

  // actions and changes from elsewhere

  renderSteps() {
    for (const button of this.host.querySelectorAll('[data-step]')) {
      const about = state.project?.[button.dataset.step];
      button.disabled = !about;
      button.title = about ? about.text : 'There is nothing to do.';
    }
  }

  async save() {
    const description = await askName('Save checkpoint', 'What is it?', 'Saved from the page', 'Save');
    if (description)
      await act('save_checkpoint', {description}, answer => {
        say(`Checkpoint saved: ${answer.checkpoint?.name || description}`);
        this.reload();
      });
  }

  async readAgain() {
    state.loadProject();
    try {
      const page = await api.checkpoints(undefined, Math.min(200, Math.max(PAGE, this.points.length)));
      if (this.ended) return;
      const was = this.points.length;
      this.points = page.checkpoints;
      this.total = page.total;
      if (!was) return this.show();
      this.renderStats();
      this.renderTimeline();
      const point = this.points.find(p => p.name === this.name);
      if (point && this.target === 'now' && !this.chosen.size) this.loadDiff(point, true);
    } catch (error) {
      say(error.message, {kind: 'error', hint: error.hint});
    }
    return undefined;
  }

  key(name) {
    const at = this.points.findIndex(p => p.name === this.name);
    const next = {j: this.points[at + 1], k: this.points[Math.max(0, at - 1)]}[name];
    if (next) {
      this.open(next.name);
      replace(to.checkpoints(next.name));
      this.timeline.querySelector('.current')?.focus();
      return true;
    }
    if (name === 'r' && at >= 0) {
      this.openRestore(this.points[at]);
      return true;
    }
    return false;
  }

  goTo() {}

  arrive() {
    this.host.querySelector('h1')?.focus({preventScroll: true});
  }

  end() {
    this.ended = true;
    state.removeEventListener('project', this.onProject);
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

/** What caused it: an event, and the prompt that came with it. */
function triggerWords(trigger) {
  const event = typeof trigger === 'string' ? trigger : trigger?.event;
  if (!event) return null;
  const words = TRIGGERS[event] || String(event);
  return trigger.promptText ? `${words}: “${oneLine(trigger.promptText, 80)}”` : words;
}

function fact(name, value) {
  return value ? h('div', {}, h('dt', {}, name), h('dd', {}, value)) : null;
}

/** Gives the code of a turn a name in the timeline. */
export async function markTurn(session, turn) {
  const name = await askName(
    `Mark turn ${turn.turn} as a checkpoint`,
    'Name',
    oneLine(turn.prompt, 60) || `Turn ${turn.turn}`,
    'Mark',
  );
  if (name)
    await act('mark_turn', {sessionId: session.sessionId, turn: turn.turn, name}, () =>
      say(`Turn ${turn.turn} is marked as “${name}”.`),
    );
}
