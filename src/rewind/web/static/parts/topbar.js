// The bar at the top: where one is, whether the server is there, theme and help.

import {h, fill} from '../core/element.js';
import {icon} from './icons.js';
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
      h(
        'button.icon-button',
        {'aria-label': words, title: words, onclick: event => this.nextTheme(event.currentTarget)},
        icon(drawing),
      ),
      h('button.icon-button', {'aria-label': 'Help', title: 'Help (?)', onclick: openHelp}, icon('help')),
    );
  }

  /** Named after what it would take back; without that, it cannot be pressed. */
  step(step, label) {
    const about = state.project?.[step === 'undo' ? 'canUndo' : 'canRedo'];
    const words = about ? `${label}: ${about.text}` : `There is nothing to ${step}.`;
    return h(
      'button.icon-button',
      {
        'aria-label': label,
        title: words,
        'aria-description': words,
        disabled: !about,
        onclick: () => openStep(step),
      },
      icon(step),
    );
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
    const theme = window.rewindTheme.next();
    const [drawing, words] = THEMES[theme];
    button.setAttribute('aria-label', words);
    button.title = words;
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
