// One turn: what was asked, what was answered and done, and the checkpoint after it.

import {h, button, fill, set, setReason} from '../core/element.js';
import {icon} from '../parts/icons.js';
import {inProject, moment, oneLine, plural} from '../core/format.js';
import {changeNodes, changesOf, changeWords, durationNode, failureNode} from './figures.js';
import {prose} from '../code/text.js';
import {showBlock} from './tool.js';
import {ICONS, runFold, runsOf} from './worklog.js';
import {digest} from '../core/renew.js';
import {counts, pathText, statusLetter} from '../code/diff.js';

const LONG_PROMPT = 1400;

/**
 * `context`: {session: its id, folds: Set of what is open, whyNot(turn): why it cannot be rewound to,
 * rewind(turn), menu(turn, place), whole(turn), diff(turn, file), review(turn), greyed: a turn of the future,
 * link(turn): where a turn that is only shown here is at home}
 */
export function renderTurn(turn, context) {
  const greyed = context.greyed === true;
  const node = h(`article.turn${greyed ? '.future' : ''}`, {
    'data-turn': turn.turn,
    tabindex: '-1',
    'aria-label': `Turn ${turn.turn}: ${oneLine(turn.prompt, 80)}`,
  });
  if (turn.compactedBefore) node.append(compaction());
  node.append(
    h(
      'div.turn-body',
      {'data-part': 'body'},
      head(turn, context, greyed),
      prompt(turn, context),
      h('div.answer', {'data-part': 'answer'}, answer(turn, context)),
      turn.truncated ? wholeButton(turn, context) : null,
      missing(turn),
      greyed ? null : checkpoint(turn, context),
    ),
  );
  if (!greyed && !context.link)
    node.addEventListener('contextmenu', event => onContext(event, turn, context));
  return node;
}

function onContext(event, turn, context) {
  // Text that is selected keeps the browser's own menu: people copy from here.
  if (String(getSelection()) || event.target.closest('a')) return;
  event.preventDefault();
  context.menu(turn, {at: {x: event.clientX, y: event.clientY}});
}

function compaction() {
  return h(
    'div.compaction',
    {role: 'note'},
    icon('compact'),
    'The conversation was compacted here: the agent remembers a summary of what came before.',
  );
}

function head(turn, context, greyed) {
  return h(
    'div.turn-head',
    h('h2', `Turn ${turn.turn}`),
    turn.timestamp ? h('time', {datetime: turn.timestamp}, moment(turn.timestamp)) : null,
    h('span.turn-first.clip', {'aria-hidden': 'true'}, oneLine(turn.prompt, 160)),
    h('span.grow'),
    figures(turn, context),
    failureNode(turn.failures),
    durationNode(turn.seconds),
    context.link
      ? h('a.quiet', {href: context.link(turn)}, 'Open', h('span.visually-hidden', ` turn ${turn.turn}`))
      : null,
    greyed || context.link
      ? null
      : button(
          'rewind',
          {
            reason: context.whyNot(turn),
            onclick: () => context.rewind(turn),
            label: `Rewind to before this, turn ${turn.turn}`,
          },
          icon('rewind'),
          h('span', 'Rewind to before this'),
        ),
    greyed || context.link
      ? null
      : h(
          'button.icon-button',
          {
            'aria-label': `More for turn ${turn.turn}`,
            'aria-haspopup': 'menu',
            'aria-expanded': 'false',
            onclick: event => context.menu(turn, {anchor: event.currentTarget}),
          },
          icon('more'),
        ),
  );
}

/** Opens the review of all that changed. */
function figures(turn, context) {
  const found = changesOf(turn);
  if (!found.files) return null;
  const label = `${changeWords(found)}: review turn ${turn.turn}`;
  return h(
    'button.figures',
    {'aria-label': label, title: 'Review what this turn changed (v)', onclick: () => context.review(turn)},
    changeNodes(found),
  );
}

/** Whether a turn can be rewound to changes while people read: nothing else of the row is touched then. */
export function renewReason(row, reason) {
  const node = row.querySelector('.turn-head > .rewind');
  if (node) setReason(node, reason);
}

function prompt(turn, context) {
  const text = turn.prompt || '';
  const key = `${turn.turn} prompt`;
  const node = h('div.prompt', text || h('em.muted', 'No text'));
  if (text.length <= LONG_PROMPT && text.split('\n').length < 22) return node;
  const open = context.folds.has(key);
  node.classList.toggle('cut', !open);
  const more = h(
    'button.link',
    {'aria-expanded': String(open)},
    open ? 'Show less' : 'Show all of the prompt',
  );
  more.addEventListener('click', () => {
    const now = !context.folds.has(key);
    if (now) context.folds.add(key);
    else context.folds.delete(key);
    node.classList.toggle('cut', !now);
    more.textContent = now ? 'Show less' : 'Show all of the prompt';
    more.setAttribute('aria-expanded', String(now));
  });
  return h('div', node, more);
}

function answer(turn, context) {
  return runsOf(turn.blocks).flatMap(({blocks, run}) => {
    const make = () => blocks.map(([item, index]) => block(item, index, turn, context));
    if (!run) return make();
    const key = `${turn.turn} run ${blocks[0][1]}`;
    const toggle = open => (open ? context.folds.add(key) : context.folds.delete(key));
    const node = runFold(blocks, context.folds.has(key), toggle, make);
    return [
      set(node, {
        'data-of': digest(blocks),
        'data-part': key,
        'data-blocks': blocks.map(([, n]) => n).join(' '),
      }),
    ];
  });
}

function block(item, index, turn, context) {
  const key = `${turn.turn} ${index}`;
  if (item.kind === 'text') return set(prose(item.html), {'data-block': index});
  if (item.kind === 'image') return picture(item);
  if (item.kind === 'note') return h('p.note', {'data-block': index}, icon('info'), h('span', item.text));
  const inside = place => showBlock(place, context.session, turn.turn, index);
  if (item.kind === 'tool')
    return fold(`tool${item.isError ? '.bad' : ''}`, key, context, item, toolLine(item), inside);
  const words = h('span.clip.muted', oneLine(item.text, 100));
  return fold(
    'thinking',
    key,
    context,
    item,
    [icon('thought'), h('span.fold-name', 'Thinking'), words],
    inside,
  );
}

function toolLine(item) {
  const outcome = item.isError
    ? h('span.outcome.bad', 'failed')
    : item.done
      ? null
      : h('span.outcome', 'no result yet');
  return [
    icon(ICONS[item.about] || 'tool'),
    h('span.fold-name', item.name),
    h('code.clip', {title: oneLine(item.summary, 300)}, oneLine(inProject(item.summary), 160)),
    outcome,
  ];
}

/** `content(place)` fills it with what `item` stands for when it is first opened. */
function fold(spec, key, context, item, summary, content) {
  const inside = h('div.fold-body');
  const node = h(
    `details.folded.${spec}`,
    {open: context.folds.has(key), 'data-of': digest(item), 'data-block': /^\d+ (\d+)$/.exec(key)?.[1]},
    h('summary', icon('chevron'), ...summary),
    inside,
  );
  const show = () => {
    if (node.open && !inside.firstChild) content(inside);
  };
  node.addEventListener('toggle', () => {
    if (node.open) context.folds.add(key);
    else context.folds.delete(key);
    show();
  });
  show();
  return node;
}

function picture(item) {
  const type = String(item.mediaType || '');
  // An SVG could hold a document; the other kinds are pixels.
  if (item.omitted || !item.data || !/^image\/(png|jpeg|gif|webp|bmp)$/.test(type)) {
    return h(
      'p.note',
      icon('image'),
      h(
        'span',
        item.omitted || !item.data
          ? 'An image that is too large to show here.'
          : `An image of a kind that is not shown (${type}).`,
      ),
    );
  }
  return h('img.picture', {src: `data:${type};base64,${item.data}`, alt: 'Image in the conversation'});
}

function wholeButton(turn, context) {
  return h(
    'p.shortened',
    icon('fold'),
    h(
      'span',
      'Some text was shortened. ',
      h('button.link', {onclick: () => context.whole(turn)}, 'Show the whole turn'),
    ),
  );
}

function missing(turn) {
  const paths = turn.missingFiles || [];
  if (!paths.length) return null;
  return h(
    'p.missing',
    icon('warning'),
    h(
      'span',
      `${plural(paths.length, 'file')} of this turn ${paths.length === 1 ? 'does' : 'do'} not exist now: `,
      paths.slice(0, 3).map((p, i) => [i ? ', ' : '', h('code', p)]),
      paths.length > 3 ? ` and ${paths.length - 3} more` : '',
    ),
  );
}

function checkpoint(turn, context) {
  const {checkpoint: point, changes} = turn;
  const files = changes?.files || [];
  if (!point && !files.length) return null;
  const label = point ? (point.exact ? 'Checkpoint' : 'Nearest checkpoint') : 'Changed files';
  const shown = [
    icon('diamond'),
    h('span.fold-name', label),
    files.length
      ? h('span', plural(files.length + (changes.more || 0), 'file'))
      : changes
        ? h('span.muted', 'no files changed')
        : h('code.muted', point.name),
    // Lines are counted in the first files only, where there are very many.
    files.length && changes.counted === false ? h('span.muted', 'at least') : null,
    files.length ? counts(changes.added, changes.removed) : null,
  ];
  if (!files.length) return h('div.checkpoint.bare', {title: point.name}, ...shown);
  return fold('checkpoint', `${turn.turn} files`, context, [point, changes], shown, place =>
    fill(
      place,
      h(
        'ul.files',
        files.map(file =>
          h(
            'li',
            h(
              'button.file',
              {onclick: () => context.diff(turn, file)},
              statusLetter(file.status),
              pathText(file.path),
              file.added || file.removed ? counts(file.added || 0, file.removed || 0) : null,
            ),
          ),
        ),
      ),
      changes.more ? h('p.muted', `and ${plural(changes.more, 'more file', 'more files')}`) : '',
      point ? h('p.muted.small', 'Checkpoint ', h('code', point.name)) : '',
    ),
  );
}
