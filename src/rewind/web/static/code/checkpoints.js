// The history of the project: a row for each turn, each edit by hand, each checkpoint and each operation, or
// a row for every checkpoint. A row opens what it changed.

import {h, fill, inPlace, listOf, set, setCurrent} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {api} from '../core/api.js';
import {afterPause, oneAtATime} from '../core/order.js';
import {state} from '../core/state.js';
import {replace, to} from '../core/route.js';
import {act} from '../sessions/branches.js';
import {clock, day, number} from '../core/format.js';
import {askName} from '../parts/modal.js';
import {counts} from './diff.js';
import {KINDS, pointOfCheckpoint, pointOfRow} from './points.js';
import {PointDetail} from './detail.js';
import {openRedo, openUndo} from '../plans/restore.js';
import {storageView} from '../parts/storage.js';
import {emptyState, loadingState} from '../parts/states.js';
import {say, sayError} from '../parts/toast.js';
import {View, viewHead} from '../parts/view.js';

const PAGE = 60;
const MOST = 500;
const WAIT = 220;
const SHOWN = [
  ['all', 'Everything'],
  ['turn', 'Turns'],
  ['edit', 'Changed by hand'],
  ['checkpoint', 'Saved by hand'],
  ['operation', 'What Rewind did'],
  ['every', 'Every checkpoint'],
];

export class CheckpointsView extends View {
  constructor(host, {name}) {
    super(host);
    Object.assign(this, {name, points: [], total: 0, kind: 'all', words: ''});
    this.timeline = h('div.timeline', {role: 'region', 'aria-label': 'Timeline'});
    this.detail = h('div.detail');
    this.stats = h('div.stats');
    this.filters = this.filterBar();
    this.reload = oneAtATime(() => this.readAgain());
    this.listen(state, 'project', () => {
      this.renderStats();
      this.renderSteps();
    });
    document.title = 'History – Rewind';
    this.ready = this.load();
  }

  head() {
    const actions = h(
      'div.actions',
      this.step('Undo', 'canUndo', openUndo),
      this.step('Redo', 'canRedo', openRedo),
      h('button.outline-button', {onclick: () => this.save()}, icon('diamond'), h('span', 'Save checkpoint')),
    );
    return viewHead('History', {beside: [h('span.grow'), actions]});
  }

  /** A button that names its operation, and is disabled when there is none. */
  step(label, key, open) {
    const onclick = () => open(() => this.reload());
    return renewStep(h('button.quiet', {'data-step': key, onclick}, label));
  }

  // which rows

  filterBar() {
    this.field = h('input', {
      type: 'search',
      placeholder: 'Filter by words or file',
      'aria-label': 'Filter the history',
      autocomplete: 'off',
      oninput: afterPause(() => this.choose(this.kind, this.field.value.trim()), WAIT),
    });
    this.select = h(
      'select',
      {'aria-label': 'Show', onchange: event => this.choose(event.target.value, this.words)},
      SHOWN.map(([value, label]) => h('option', {value}, label)),
    );
    return h('div.timeline-filter', h('div.search-box', icon('search'), this.field), this.select);
  }

  choose(kind, words) {
    Object.assign(this, {kind, words});
    if (!this.ended) this.reload();
  }

  /** {points, total, waiting}. `after` is the last point that is shown already. */
  async read({after = null, count = PAGE, upto = undefined} = {}) {
    if (this.kind === 'every') {
      const page = await api.checkpoints(after?.checkpoint.sequence, count, upto);
      const points = page.checkpoints.map(pointOfCheckpoint).filter(point => this.matches(point));
      return {points, total: this.words ? points.length : page.total, everything: page.total, waiting: 0};
    }
    const query = {kind: this.kind, q: this.words || undefined, after: after?.key, count, upto};
    const page = await api.history(query);
    return {...page, points: page.rows.map(pointOfRow)};
  }

  matches(point) {
    return `${point.title} ${point.key}`.toLowerCase().includes(this.words.toLowerCase());
  }

  async load() {
    fill(this.host, this.head(), loadingState('Reading the history'));
    try {
      let page = await this.read({upto: this.name || undefined});
      if (this.name && !page.points.some(point => point.names.includes(this.name))) {
        this.kind = this.select.value = 'every'; // a backup has no row in the history
        page = await this.read({upto: this.name});
      }
      if (this.ended) return;
      this.take(page);
      this.show();
    } catch (error) {
      this.fail(error, () => this.load(), this.head());
    }
  }

  take(page) {
    Object.assign(this, {points: page.points, total: page.total, everything: page.everything});
    clearTimeout(this.counting);
    if (page.waiting && !this.ended) this.counting = setTimeout(() => this.reload(), 800);
  }

  show() {
    if (!this.everything) {
      const words = 'Save one now, or let the agent work: Rewind saves one before each prompt.';
      fill(this.host, this.head(), emptyState('No checkpoints yet', words));
      return;
    }
    const side = h('div.timeline-side', this.filters, this.timeline, this.stats);
    fill(this.host, this.head(), h('div.checkpoints', side, this.detail));
    this.renderStats();
    this.renderTimeline();
    // On a phone the list comes first, and a row is opened by a tap.
    const wanted = this.name || (matchMedia('(min-width: 900px)').matches && this.points[0]?.key);
    if (wanted) this.open(wanted);
  }

  renderStats() {
    const every = this.kind === 'every' ? this.points.map(point => point.checkpoint) : [];
    fill(this.stats, storageView(state.project?.storage, every.filter(Boolean)));
  }

  renderTimeline() {
    const groups = [];
    for (const point of this.points) {
      const label = day(point.at);
      if (groups.at(-1)?.label !== label) groups.push({label, points: []});
      groups.at(-1).points.push(point);
    }
    const more = this.total - this.points.length;
    inPlace(this.timeline, () =>
      fill(
        this.timeline,
        groups.map(group => this.day(group)),
        this.points.length ? null : h('p.side-note', 'Nothing in the history matches.'),
        more > 0
          ? h('button.quiet.more', {onclick: () => this.loadMore()}, `Show earlier (${number(more)} more)`)
          : null,
      ),
    );
  }

  day({label, points}) {
    const rows = listOf('ol', points, point => this.row(point));
    return h('section', h('h2.day', label), rows);
  }

  row(point) {
    const current = point.key === this.opened?.key;
    return h(
      `button.point.kind-${point.kind}${current ? '.current' : ''}`,
      {
        'aria-current': current ? 'true' : null,
        'data-key': point.key,
        onclick: () => this.open(point.key, true),
      },
      h('span.point-mark', {'aria-hidden': 'true'}),
      h(
        'span.point-text',
        h('span.clip', {title: point.title}, point.title),
        h(
          'span.row-meta',
          h('time', {datetime: point.at}, clock(point.at)),
          h('span', point.turn ? `Turn ${point.turn}` : KINDS[point.kind] || point.kind),
          point.changes?.files
            ? h(
                'span',
                point.changes.counted === false ? 'at least ' : null,
                counts(point.changes.added, point.changes.removed),
              )
            : null,
          point.running ? h('span.mark.busy', 'running') : null,
          point.undone ? h('span', 'undone') : null,
          point.here ? h('span.mark.here', 'you are here') : null,
        ),
      ),
    );
  }

  async loadMore() {
    try {
      const page = await this.read({after: this.points.at(-1)});
      this.points.push(...page.points);
      this.renderTimeline();
    } catch (error) {
      sayError(error);
    }
  }

  // the selected point

  /** Find a point by its key, or by the name of a checkpoint in it. */
  find(wanted) {
    return (
      this.points.find(point => point.key === wanted) ||
      this.points.find(point => point.names.includes(wanted))
    );
  }

  open(wanted, byHand = false) {
    const point = this.find(wanted);
    this.opened = point || null;
    this.shown?.end();
    for (const row of this.timeline.querySelectorAll('.point')) {
      const on = row.dataset.key === point?.key;
      row.classList.toggle('current', on);
      setCurrent(row, on);
      if (on && !byHand) row.scrollIntoView({block: 'nearest'});
    }
    const why = 'It was removed to keep the budget, or never existed.';
    if (!point) return fill(this.detail, emptyState('This checkpoint does not exist', why));
    if (byHand && point.names[0]) replace(to.checkpoints(point.names.at(-1)));
    this.host.querySelector('.checkpoints').dataset.open = 'yes';
    this.shown = new PointDetail(
      point,
      () => this.points,
      () => this.reload(),
    );
    const back = h('button.quiet.to-list', {onclick: () => this.closeDetail()}, icon('back'), 'Timeline');
    return fill(this.detail, back, this.shown.node);
  }

  closeDetail() {
    delete this.host.querySelector('.checkpoints').dataset.open;
    this.timeline.querySelector('.current')?.focus();
  }

  // actions and changes from elsewhere

  renderSteps() {
    this.host.querySelectorAll('[data-step]').forEach(renewStep);
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
    try {
      const page = await this.read({count: Math.min(MOST, Math.max(PAGE, this.points.length))});
      if (this.ended) return;
      const first = !this.everything;
      this.take(page);
      if (first) return this.show();
      this.renderStats();
      this.renderTimeline();
      this.shown?.refresh();
    } catch (error) {
      sayError(error);
    }
    return undefined;
  }

  key(name) {
    const at = this.points.findIndex(point => point.key === this.opened?.key);
    const next = {j: this.points[at + 1], k: this.points[Math.max(0, at - 1)]}[name];
    if (next) {
      this.open(next.key);
      if (next.names[0]) replace(to.checkpoints(next.names.at(-1)));
      this.timeline.querySelector('.current')?.focus();
    } else if (name === 'r' && this.opened) this.shown.openRestore();
    else if (name === '/') this.field.focus();
    else return false;
    return true;
  }

  end() {
    super.end();
    this.shown?.end();
    clearTimeout(this.counting);
  }
}

function renewStep(button) {
  const about = state.project?.[button.dataset.step];
  return set(button, {disabled: !about, title: about ? about.text : 'There is nothing to do.'});
}
