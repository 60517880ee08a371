// One file at a point: its lines with the prompt that wrote each of them, and its history by turn.

import {h, fill} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {api} from '../core/api.js';
import {to} from '../core/route.js';
import {number, plural} from '../core/format.js';
import {emptyState, loadingState, showError} from '../parts/states.js';
import {openRestore} from '../plans/restore.js';
import {sayError} from '../parts/toast.js';
import {pathText} from '../code/diff.js';
import {blameRuns} from './blame.js';
import {historyList} from './history.js';

const WITHOUT_LINES = 'Its history has every version that a checkpoint holds.';
const WIDE = '(min-width: 1200px)';

export class FilePane {
  /** `view`: {reload()} */
  constructor(view) {
    this.view = view;
    this.node = h('section.file-pane', {'aria-label': 'File'});
  }

  /** With `again`, the shown lines stay until the new ones are there, because someone may be reading them. */
  show(point, path, again = false) {
    Object.assign(this, {point, path});
    this.turn = (this.turn || 0) + 1;
    if (!path) {
      fill(this.node, emptyState('Choose a file', 'You see who wrote each line, and every version of it.'));
      return;
    }
    if (!again || !this.lines) this.layOut();
    this.readLines(this.turn);
    this.readHistory(this.turn);
  }

  layOut() {
    this.about = h('span.muted.small');
    this.back = h('div.actions');
    this.lines = h('div.file-lines', loadingState('Reading who wrote it', 3));
    this.historyCount = h('span.muted');
    this.history = h('div.file-history-list', loadingState('Reading its history', 2));
    fill(
      this.node,
      h(
        'header.file-head',
        h(
          'a.icon-button.to-files',
          {href: to.files(this.point), 'aria-label': 'All files', title: 'All files'},
          icon('back'),
        ),
        h('h2', pathText(this.path)),
        this.about,
        h('span.grow'),
        this.back,
      ),
      h(
        'div.file-body',
        this.lines,
        h(
          'details.file-history',
          {open: matchMedia(WIDE).matches},
          h('summary', icon('chevron'), h('strong', 'History'), this.historyCount),
          this.history,
        ),
      ),
    );
  }

  drawBack(there) {
    const usable = there && this.point !== 'now';
    fill(
      this.back,
      usable
        ? h(
            'button.primary',
            {title: 'Restore it as it was at this point', onclick: () => this.bringBack()},
            icon('rewind'),
            h('span', 'Bring back this file…'),
          )
        : null,
    );
    this.canBringBack = usable;
  }

  /** Opens the plan to restore this file, from the current point or from a row of the file's history. */
  bringBack(name = this.point, words = this.words) {
    if (name === this.point && !this.canBringBack) return;
    openRestore({name, description: `As it was ${words}`}, [this.path], () => this.view.reload());
  }

  async readLines(turn) {
    try {
      const found = await api.fileBlame(this.path, this.point);
      if (turn !== this.turn) return;
      this.words = found.point.words;
      this.drawBack(!found.why || found.why.there);
      this.about.textContent = found.why ? '' : plural(found.total, 'line');
      this.drawLines(found);
    } catch (error) {
      if (turn !== this.turn) return;
      this.about.textContent = '';
      this.drawBack(false);
      showError(this.lines, error, () => this.readLines(turn));
    }
  }

  drawLines(found) {
    if (found.why) return fill(this.lines, emptyState(found.why.message, WITHOUT_LINES));
    if (!found.total) return fill(this.lines, h('p.muted.pad', 'This file is empty.'));
    const list = blameRuns(found);
    const shown = found.from + found.lines.length - 1;
    fill(this.lines, list, shown < found.total ? this.more(list, shown, found.total) : null);
    return undefined;
  }

  more(list, shown, total) {
    const button = h(
      'button.quiet.more',
      {onclick: () => this.readMore(button, list, shown)},
      `Show more lines (${number(total - shown)} more)`,
    );
    return button;
  }

  async readMore(button, list, shown) {
    try {
      const found = await api.fileBlame(this.path, this.point, shown + 1);
      list.querySelector('ol').append(...blameRuns(found).querySelector('ol').children);
      const now = found.from + found.lines.length - 1;
      if (now < found.total) button.replaceWith(this.more(list, now, found.total));
      else button.remove();
    } catch (error) {
      sayError(error);
    }
  }

  async readHistory(turn) {
    try {
      const found = await api.fileLog(this.path, this.point);
      if (turn !== this.turn) return;
      const count = found.changes.length;
      this.historyCount.textContent = found.more ? `${count}+ changes` : plural(count, 'change');
      fill(this.history, count ? this.versions(found) : h('p.muted.pad', 'No checkpoint has it yet.'));
    } catch (error) {
      if (turn !== this.turn) return;
      this.historyCount.textContent = '';
      fill(this.history, h('p.muted.pad', error.message));
    }
  }

  versions(found) {
    return historyList(found, this.path, this.point, (name, words) => this.bringBack(name, words));
  }
}
