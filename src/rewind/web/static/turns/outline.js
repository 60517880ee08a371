// The dropdown of turns: a list around the current one, and a field to jump.

import {h, fill, listOf} from '../core/element.js';
import {api} from '../core/api.js';
import {moment, number, oneLine} from '../core/format.js';
import {changeNodes} from './figures.js';
import {readInto} from '../parts/states.js';

const SHOWN = 100;

/** Opens under a button. Calls `jump` with the number of a turn. */
export function openOutline(anchor, shape, current, total, jump) {
  const list = h('div.outline-list');
  const field = h('input', {
    type: 'text',
    inputmode: 'numeric',
    placeholder: `Turn 1 to ${number(total)}`,
    'aria-label': 'Jump to turn',
    autocomplete: 'off',
  });
  const panel = h(
    'div.outline',
    {role: 'dialog', 'aria-label': 'Turns of this session'},
    h('div.outline-head', field),
    list,
  );
  anchor.parentElement.append(panel);
  anchor.setAttribute('aria-expanded', 'true');

  function close(back = true) {
    panel.remove();
    anchor.setAttribute('aria-expanded', 'false');
    document.removeEventListener('pointerdown', outside, true);
    if (back) anchor.focus();
  }
  const outside = event => {
    if (!panel.contains(event.target) && !anchor.contains(event.target)) close(false);
  };
  const pick = turn => {
    close(false);
    jump(turn);
  };

  field.addEventListener('keydown', event => {
    const turn = parseInt(field.value, 10);
    if (event.key === 'Enter' && turn >= 1 && turn <= total) pick(turn);
    if (event.key === 'ArrowDown') {
      event.preventDefault();
      (list.querySelector('[aria-current]') || list.querySelector('button'))?.focus();
    }
  });
  panel.addEventListener('keydown', event => onKey(event, list, close));
  document.addEventListener('pointerdown', outside, true);
  field.focus();
  load(Math.max(1, current - SHOWN / 2));

  function load(from) {
    return readInto(list, 'Reading the turns', 3, async () => {
      const page = await read(from);
      const last = from + page.turns.length - 1;
      const more = (label, next) => h('button.quiet', {onclick: () => load(next)}, label);
      fill(
        list,
        from > 1 ? more('Earlier turns', Math.max(1, from - SHOWN)) : null,
        listOf('ol', page.turns, entry),
        last < page.total ? more('Later turns', last + 1) : null,
      );
      list.querySelector('[aria-current]')?.scrollIntoView({block: 'center'});
    });
  }

  /** Takes turns from the shape, if it is loaded, because it has the figures. */
  async function read(from) {
    if (shape.turns.length < total) return api.outline(shape.session, from, SHOWN);
    return {total, turns: shape.turns.slice(from - 1, from - 1 + SHOWN)};
  }

  function entry(turn) {
    return h(
      'button.outline-turn',
      {'aria-current': turn.turn === current ? 'true' : null, onclick: () => pick(turn.turn)},
      h('span.no', String(turn.turn)),
      h('span.clip', oneLine(turn.prompt, 100)),
      turn.files ? h('span.counts', changeNodes(turn)) : null,
      turn.failures ? h('span.failures', {title: 'Tools that failed'}, `${turn.failures} failed`) : null,
      h('time', turn.timestamp ? moment(turn.timestamp) : ''),
    );
  }
}

function onKey(event, list, close) {
  const all = [...list.querySelectorAll('button')];
  const at = all.indexOf(document.activeElement);
  if (event.key === 'Escape') close();
  else if (event.key === 'ArrowDown' && at >= 0) all[at + 1]?.focus();
  else if (event.key === 'ArrowUp' && at >= 0) all[at - 1]?.focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
}
