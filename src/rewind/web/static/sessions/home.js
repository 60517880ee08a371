// Nothing is chosen: a first step for a newcomer, the reason when something is wrong.

import {h, fill} from '../core/element.js';
import {state} from '../core/state.js';
import {command, emptyState, errorState} from '../parts/states.js';

export class HomeView {
  constructor(host, panes) {
    this.host = host;
    this.panes = panes;
    document.title = 'Rewind';
    this.render();
  }

  render() {
    // On a phone the list is the home; only without one is there something else to say.
    this.panes.dataset.pane = state.sessions.size || state.trash.length ? 'tree' : 'main';
    fill(this.host, this.content());
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
      'Rewind shows the conversations that your agents have in this project. ' +
        'Start one here, and it appears by itself:',
      h('div.first-steps', {}, command('claude'), command('droid')),
      h('p.muted', {}, 'So that each prompt gets a checkpoint of the code, let the agents call Rewind:'),
      h('div.first-steps', {}, command('rewind config --register-hooks')),
    );
  }

  key() {
    return false;
  }

  goTo() {}
  arrive() {}
  end() {}
}
