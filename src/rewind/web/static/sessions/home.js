// The view if nothing is chosen: the first steps for a new user, depending on what is set up, or an error.

import {h, fill} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {api} from '../core/api.js';
import {state} from '../core/state.js';
import {to} from '../core/route.js';
import {plural} from '../core/format.js';
import {asPage, command, emptyState, errorState} from '../parts/states.js';
import {View} from '../parts/view.js';

const HOOKS = {
  registered: 'calls Rewind',
  missing: 'does not call Rewind yet',
  off: 'runs no hooks: they are turned off in its settings',
  unknown: 'has settings that cannot be read',
};

export class HomeView extends View {
  constructor(host) {
    super(host);
    document.title = 'Rewind';
    this.render();
    this.ready = this.look();
  }

  /** Which agents are set up is only read if there is nothing else to show. */
  async look() {
    if (state.sessions.size || state.error) return;
    try {
      this.setup = await api.setup();
    } catch (_) {
      return; // the steps are shown without it
    }
    if (!this.ended) this.render();
  }

  render() {
    // On a phone the list of sessions is the home. This view is only shown if the list is empty.
    document.getElementById('panes').dataset.pane =
      state.sessions.size || state.trash.length ? 'tree' : 'main';
    fill(this.host, asPage(this.content()));
  }

  content() {
    if (state.error) return errorState(state.error, () => state.loadSessions());
    if (state.sessions.size)
      return emptyState(
        'Choose a session',
        'The list shows the conversations of this project. Every turn in one can be read, and rewound to.',
      );
    return emptyState(
      'No sessions yet',
      'Rewind shows the conversations that your agents have in this project.',
      ...(this.setup ? this.steps(this.setup) : []),
      this.saved(),
    );
  }

  steps({agents, register}) {
    const used = agents.filter(agent => agent.used);
    const calls = used.filter(agent => agent.hooks === 'registered');
    const names = some => some.map(agent => agent.name);
    if (!used.length)
      return [
        h('p', 'No agent has been used on this machine yet.'),
        step('Start one here. Its session appears automatically:', names(agents)),
      ];
    const list = h('ul.agents', used.map(agentItem));
    if (calls.length)
      return [list, step('Start a session here, and it appears automatically:', names(calls))];
    return [
      list,
      step('Let the agents call Rewind, so that each prompt gets a checkpoint of the code:', [register]),
      step('Then start a session here:', names(used)),
    ];
  }

  saved() {
    const n = state.project?.storage?.checkpoints;
    return n
      ? h('p.muted', h('a', {href: to.checkpoints()}, plural(n, 'checkpoint')), ' of the files so far.')
      : null;
  }

  arrive() {}
}

function agentItem({hooks, title}) {
  const sign = icon(hooks === 'registered' ? 'check' : 'warning');
  return h(`li.agent.${hooks}`, sign, h('span', h('strong', title), ` ${HOOKS[hooks]}`));
}

function step(words, commands) {
  return h('div.first-step', h('p', words), h('div.first-steps', commands.map(command)));
}
