// The files of the project at any point: the tree, and one file with its history and the authors of its
// lines.

import {h, fill, freshId, inPlace} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {api} from '../core/api.js';
import {go, to} from '../core/route.js';
import {moment, oneLine} from '../core/format.js';
import {sayError} from '../parts/toast.js';
import {FileTree} from './tree.js';
import {FilePane} from './file.js';
import {View} from '../parts/view.js';

const LISTED = 200;

export class FilesView extends View {
  constructor(host, {point, path}) {
    super(host);
    Object.assign(this, {point, path, points: []});
    this.head = h('header.session-head');
    this.tree = new FileTree(this);
    this.pane = new FilePane(this);
    this.body = h('div.files-view', this.tree.node, this.pane.node);
    fill(host, this.head, this.body);
    this.showFile();
    this.showPoint();
  }

  showFile() {
    document.title = `${this.path || 'Files'} – Rewind`;
    if (this.path) this.body.dataset.open = 'yes';
    else delete this.body.dataset.open;
    this.pane.show(this.point, this.path);
  }

  showPoint() {
    this.drawHead();
    this.tree.load();
    this.ready = this.loadPoints();
  }

  // the header: the point, and controls to choose another

  drawHead() {
    const row = h(
      'div.title-row',
      h('h1', {tabindex: '-1', 'data-key': 'title'}, 'Files'),
      h('span.review-ends.point-words', this.pointWords()),
      h('span.grow'),
      h('div.actions.point-choice', this.step('Older', 1), this.step('Newer', -1), this.choice()),
    );
    inPlace(this.head, () => fill(this.head, row));
  }

  pointWords() {
    const found = this.tree.point;
    if (!found || found.name !== this.point) return '';
    if (found.name === 'now') return 'as they are now';
    const {prompt, words, createdAt} = found;
    return [
      h('span', words),
      h('time.muted', {datetime: createdAt}, moment(createdAt)),
      prompt
        ? h(
            'a.clip.point-prompt',
            {href: to.session(prompt.sessionId, prompt.turn), title: `Open turn ${prompt.turn}`},
            `Turn ${prompt.turn}: ${oneLine(prompt.text, 90)}`,
          )
        : null,
    ];
  }

  choice() {
    const id = freshId('point');
    const missing = this.point !== 'now' && !this.points.some(p => p.name === this.point);
    const options = [
      h('option', {value: 'now'}, 'The files now'),
      missing ? h('option', {value: this.point}, this.point) : null,
      this.points.map(p =>
        h('option', {value: p.name}, `${moment(p.createdAt)} – ${oneLine(p.description, 60) || p.kind}`),
      ),
    ];
    const onchange = event => go(to.files(event.target.value, this.path));
    const select = h('select', {id, 'data-key': 'choice', onchange}, options);
    select.value = this.point;
    return [h('label.visually-hidden', {for: id}, 'Point in time'), select];
  }

  /** One checkpoint back or forward. Forward from the newest checkpoint leads to the files now. */
  step(label, by) {
    const at = this.point === 'now' ? -1 : this.points.findIndex(p => p.name === this.point);
    const known = this.point === 'now' || at >= 0;
    const next = at + by;
    const target = next === -1 ? 'now' : this.points[next]?.name;
    const usable = known && target && next >= -1;
    return h(
      'button.icon-button',
      {
        'data-key': label,
        disabled: !usable,
        'aria-label': `${label} point`,
        title: `${label} (${by > 0 ? '[' : ']'})`,
        onclick: () => go(to.files(target, this.path)),
      },
      icon(by > 0 ? 'back' : 'chevron'),
    );
  }

  readPoints() {
    return api.points(LISTED, this.point === 'now' ? undefined : this.point);
  }

  async loadPoints() {
    if (this.points.some(p => p.name === this.point)) return;
    try {
      const page = await this.readPoints();
      if (this.ended) return;
      this.points = page.checkpoints;
      this.drawHead();
    } catch (error) {
      sayError(error);
    }
  }

  // moving

  goTo({point, path}) {
    const moved = point !== this.point;
    if (!moved && path === this.path) return;
    Object.assign(this, {point, path});
    this.showFile();
    if (moved) this.showPoint();
    else this.tree.mark();
  }

  /** Something was saved or restored. The tree of an older point stays as it is. */
  async reload() {
    const page = await this.readPoints().catch(() => null);
    if (this.ended) return;
    if (page) this.points = page.checkpoints;
    this.drawHead();
    if (this.point === 'now') this.tree.load();
    this.pane.show(this.point, this.path, true);
  }

  key(name) {
    if (name === '/') this.tree.filter.focus();
    else if (name === '[' || name === ']') this.press(name === '[' ? 'Older' : 'Newer');
    else if (name === 'r') this.pane.bringBack();
    else return false;
    return true;
  }

  /** A key may be typed before the list of points is there. */
  async press(step) {
    await this.ready;
    this.head.querySelector(`[data-key=${step}]`)?.click();
  }
}
