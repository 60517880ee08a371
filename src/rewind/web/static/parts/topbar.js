// The bar at the top: the views, undo and redo, the state of the connection, theme and help.

import {h, fill, set} from '../core/element.js';
import {icon, iconButton} from './icons.js';
import {state} from '../core/state.js';
import {to} from '../core/route.js';
import {openHelp} from './help.js';
import {openStep} from '../plans/restore.js';
import {announce} from './toast.js';

const THEMES = {
  auto: ['auto', 'Theme: as the system'],
  light: ['sun', 'Theme: light'],
  dark: ['moon', 'Theme: dark'],
};

export class TopBar {
  constructor(host) {
    this.host = host;
    this.view = 'home';
    this.up = null;
    state.addEventListener('project', () => this.render());
    this.render();
  }

  render() {
    const {project} = state;
    const tab = (view, label, href) =>
      h('a.tab', {href, 'aria-current': this.view === view ? 'page' : null}, label);
    const [drawing, words] = THEMES[window.rewindTheme.get()];
    fill(
      this.host,
      h(
        'a.brand',
        {href: to.home(), 'aria-label': 'Rewind, start'},
        h('span.brand-mark', icon('rewind')),
        h('span.brand-name', 'Rewind'),
      ),
      project ? h('span.project.clip', {title: project.root}, project.name) : null,
      h(
        'nav.tabs',
        {'aria-label': 'Views'},
        tab('sessions', 'Sessions', to.home()),
        tab('graph', 'Graph', to.graph()),
        tab('files', 'Files', to.files()),
        tab('checkpoints', 'History', to.checkpoints()),
      ),
      h('span.grow'),
      this.step('undo', 'Undo'),
      this.step('redo', 'Redo'),
      this.status(),
      iconButton(drawing, words, event => this.nextTheme(event.currentTarget), {title: words}),
      iconButton('help', 'Help', openHelp, {title: 'Help (?)'}),
    );
  }

  /** Its title says what it would undo or redo. If there is nothing, it is disabled. */
  step(step, label) {
    const about = state.project?.[step === 'undo' ? 'canUndo' : 'canRedo'];
    const title = about ? `${label}: ${about.text}` : `There is nothing to ${step}.`;
    const more = {title, 'aria-description': title, disabled: !about};
    return iconButton(step, label, () => openStep(step), more);
  }

  status() {
    const words = this.up === null ? 'Connecting' : this.up ? 'Live' : 'Offline';
    return h(
      `span.status.${this.up ? 'up' : 'down'}`,
      {title: this.up ? 'Changes appear automatically' : 'No connection to the server'},
      h('i.dot'),
      h('span', words),
    );
  }

  nextTheme(button) {
    const [drawing, words] = THEMES[window.rewindTheme.next()];
    set(button, {'aria-label': words, title: words});
    fill(button, icon(drawing));
    announce(words);
  }

  setView(view) {
    this.view = view;
    this.render();
  }

  setUp(up) {
    this.up = up;
    this.host.querySelector('.status')?.replaceWith(this.status());
  }
}
