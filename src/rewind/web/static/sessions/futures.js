// Forks with their own directories: their states, and actions to compare, adopt, remove and bring back.

import {h, fill, inPlace, setMember} from '../core/element.js';
import {wire} from '../core/api.js';
import {state} from '../core/state.js';
import {plural} from '../core/format.js';
import {pathText} from '../code/diff.js';
import {confirm, openModal} from '../parts/modal.js';
import {command, errorNotice, loadingState, notice} from '../parts/states.js';
import {say} from '../parts/toast.js';
import {openAdopt} from '../plans/adopt.js';
import {act} from './branches.js';

const MOST = 3; // forks side by side
const STATES = {
  idle: 'idle',
  open: 'open in an agent',
  busy: 'an agent is at work',
  gone: 'its directory is gone',
  'half-made': 'never finished',
  'half-removed': 'half removed',
};

const WHAT_REMOVING_DOES =
  'A checkpoint keeps its files first, and its conversation goes to the trash. You can undo this. ' +
  'A fork with work that no checkpoint can hold is not removed.';

/** The part of the graph view that lists them. `changed` is called after an action. */
export class Futures {
  constructor(changed) {
    this.changed = changed;
    this.marked = new Set();
    // They are kept, so that a dialog can return the focus to the one that opened it.
    this.buttons = new Map();
    this.node = h('section.futures', {'aria-labelledby': 'futures-title', hidden: true});
    this.act = h(
      'button.primary',
      {'data-key': 'compare', onclick: () => openCompare(this.chosen())},
      'Compare',
    );
  }

  button(key, label, words, run) {
    const found = this.buttons.get(key) || h('button.quiet', {'data-key': key, 'aria-label': words}, label);
    this.buttons.set(key, found);
    found.onclick = run;
    return found;
  }

  show({lanes, removed}) {
    this.lanes = lanes;
    this.removed = removed;
    const names = new Set(lanes.map(lane => lane.name));
    for (const name of this.marked) if (!names.has(name)) this.marked.delete(name);
    this.node.hidden = !lanes.length && !removed.length;
    if (this.node.hidden) return;
    const title = h('h2', {id: 'futures-title'}, 'Forks in directories of their own');
    const compare = lanes.length > 1 ? this.act : null;
    inPlace(this.node, () => {
      const rows = lanes.map(lane => this.row(lane));
      const head = h('div.futures-head', title, h('span.grow'), compare);
      fill(this.node, head, h('ul.future-list', rows), removed.length ? this.trash() : null);
    });
    this.updateCompare();
  }

  chosen() {
    const marked = this.lanes.filter(lane => this.marked.has(lane.name));
    return marked.length ? marked : this.lanes;
  }

  /** Without a mark, all are compared, if there are not too many. */
  updateCompare() {
    const n = this.chosen().length;
    this.act.disabled = n < 2 || n > MOST;
    this.act.title = this.act.disabled ? `Select 2 or ${MOST} forks` : '';
  }

  row(lane) {
    const {name, problem, dir} = lane;
    const whole = !problem && lane.exists;
    const box = h('input', {
      type: 'checkbox',
      checked: this.marked.has(name),
      disabled: !whole,
      'data-key': `mark ${name}`,
      onchange: event => this.mark(name, event.target.checked),
    });
    const adopt = () => openAdopt(lane, this.changed);
    return h(
      'li.future',
      {id: `future-${name}`},
      h('label.future-name', box, h('strong', name), h('span.visually-hidden', ' select to compare')),
      h('span.row-meta', facts(lane)),
      h('code.future-dir.clip', {title: dir, tabindex: '0'}, dir),
      problem ? notice('warning', [problem]) : null,
      h(
        'div.future-actions',
        whole ? this.button(`adopt ${name}`, 'Adopt…', `Adopt ${name}`, adopt) : null,
        this.button(`remove ${name}`, 'Remove…', `Remove ${name}`, () => this.remove(lane)),
      ),
      lane.resume ? command(lane.resume) : null,
    );
  }

  mark(name, on) {
    setMember(this.marked, name, on);
    this.updateCompare();
  }

  trash() {
    const back = ({name}) => {
      const words = `Bring back ${name}`;
      return this.button(`back ${name}`, words, words, () => this.bringBack(name));
    };
    const words = `${plural(this.removed.length, 'fork was', 'forks were')} removed: `;
    return h('p.muted.future-trash', words, this.removed.map(back));
  }

  async remove(lane) {
    const sure = await confirm(
      `Remove ${lane.name}?`,
      [h('p', h('code', lane.dir)), h('p.muted', WHAT_REMOVING_DOES)],
      'Remove fork',
      'danger',
    );
    if (!sure) return;
    const action = {label: 'Undo', run: () => this.bringBack(lane.name)};
    await this.change('remove_lane', lane.name, () => say(`${lane.name} is removed.`, {action}));
  }

  bringBack(name) {
    return this.change('undelete_lane', name, () => say(`${name} is back.`));
  }

  async change(event, name, done) {
    await act(event, {name}, done);
    await Promise.all([this.changed(), state.loadProject()]);
  }
}

function facts(lane) {
  const ran = lane.lastRun;
  return [
    h('span', STATES[lane.state] || lane.state),
    lane.turns === null ? null : h('span', plural(lane.turns, 'turn')),
    h('span', sizeWords(lane)),
    ran ? h(`span.${ran.code === 0 ? 'passed' : 'failed'}`, runWords(ran)) : null,
  ];
}

function sizeWords(lane) {
  if (!lane.files) return 'no changes';
  return `+${lane.added} −${lane.removed} in ${plural(lane.files, 'file')}`;
}

/** A future in the form in which the graph draws a session: where it parted, and its own turns. */
export function asSession(lane) {
  const from = lane.fromTurn || 0;
  return {
    sessionId: lane.session_id,
    parentSessionId: lane.parentSessionId,
    title: lane.name,
    rewindFromTurn: from,
    turns: from + (lane.turns || 0),
    future: lane,
  };
}

// side by side

async function openCompare(lanes) {
  const names = lanes.map(lane => lane.name);
  const {body, cancel} = openModal(`Compare ${names.join(', ')}`, {wide: true, leave: 'Close'});
  const place = h('div', {'aria-live': 'polite'}, loadingState('Comparing', 2));
  body.append(place);
  cancel.focus();
  try {
    fill(place, table(await wire.request('compare_lanes', {names})));
  } catch (error) {
    fill(place, errorNotice(error));
    return;
  }
  const words =
    'This page runs no commands. To see what a test says in each of them, run this in a terminal:';
  place.append(
    h('p.muted.small', words),
    command(`rewind forks compare ${names.join(' ')} --run 'pytest -q'`),
  );
}

function table({lanes, files, more}) {
  const row = (head, make) => h('tr', h('th', {scope: 'row'}, head), lanes.map(make));
  const head = ['File', ...lanes.map(lane => lane.name)].map(name => h('th', {scope: 'col'}, name));
  const body = [
    files.map(file => row(pathText(file.path), lane => cell(file.changes[lane.name]))),
    more ? row(`and ${more} more`, () => h('td')) : null,
    row('All files', lane => h('td', sizeWords(lane))),
    row('Turns', lane => h('td', lane.turns === null ? '–' : String(lane.turns))),
    row('Last command', lane => h('td', lane.lastRun ? runWords(lane.lastRun) : 'none yet')),
  ];
  return h(
    'div.table-scroll',
    {tabindex: '0', role: 'group', 'aria-label': 'What each fork changed'},
    h('table.compare-table', h('thead', h('tr', head)), h('tbody', body)),
  );
}

function cell(one) {
  if (!one) return h('td.muted', 'unchanged');
  const what = {added: 'new, ', deleted: 'deleted, '}[one.status] || '';
  return h('td', `${what}+${one.added || 0} −${one.removed || 0}`);
}

function runWords(ran) {
  return `${ran.command}: ${ran.code === 0 ? 'passed' : `exit ${ran.code}`}`;
}
