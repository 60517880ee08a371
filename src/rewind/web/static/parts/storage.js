// The space of the checkpoints: how much of the budget is used, and what each of the latest ones added.

import {h, svg} from '../core/element.js';
import {bytes, number, plural} from '../core/format.js';

const BARS = 48,
  WIDTH = 480,
  HEIGHT = 56;

export function storageView(storage, checkpoints) {
  if (!storage) return null;
  const share = storage.maxBytes ? Math.min(1, storage.bytes / storage.maxBytes) : 0;
  const words = storage.maxBytes
    ? `${bytes(storage.bytes)} of ${bytes(storage.maxBytes)}`
    : bytes(storage.bytes);
  return h(
    'section.storage',
    {'aria-label': 'Storage'},
    h('div.storage-words', h('strong', words), h('span.muted', plural(storage.checkpoints, 'checkpoint'))),
    storage.maxBytes ? gauge(share) : null,
    added(checkpoints),
  );
}

function gauge(share) {
  const label = `${Math.round(share * 100)} % of the budget is used`;
  return svg(
    'svg',
    {
      viewBox: '0 0 100 4',
      class: `gauge${share > 0.9 ? ' full' : ''}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': label,
    },
    svg('rect', {width: 100, height: 4, rx: 1, class: 'gauge-all'}),
    svg('rect', {width: Math.max(share * 100, 0.6), height: 4, rx: 1, class: 'gauge-used'}),
  );
}

/** One bar for each checkpoint, oldest left. The scale is a square root, so that small ones stay visible. */
function added(checkpoints) {
  const shown = checkpoints.slice(0, BARS).reverse();
  if (shown.length < 2) return null;
  const most = Math.max(1, ...shown.map(c => c.newBytes || 0));
  const step = WIDTH / shown.length;
  const bars = shown.map((c, i) => {
    const tall = c.newBytes ? Math.max(3, Math.sqrt(c.newBytes / most) * HEIGHT) : 1.5;
    return svg(
      'rect',
      {
        x: i * step + 1,
        y: HEIGHT - tall,
        width: Math.max(1, Math.min(18, step - 2)),
        height: tall,
        rx: 1.5,
        class: `bar bar-${c.kind === 'backup' ? 'backup' : 'other'}`,
      },
      svg('title', {}, `${c.name}: ${bytes(c.newBytes || 0)} new`),
    );
  });
  const label = `New bytes of the latest ${number(shown.length)} checkpoints, at most ${bytes(most)}`;
  return h(
    'figure.chart',
    svg(
      'svg',
      {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label, preserveAspectRatio: 'none'},
      ...bars,
    ),
    h('figcaption', `New data of the latest ${shown.length}, up to ${bytes(most)}`),
  );
}
