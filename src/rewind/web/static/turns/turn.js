// One turn: the prompt, what the agent answered and did, and the checkpoint after it.

import {h, button, fill, listOf, setMember, set, setReason} from '../core/element.js';
import {icon, iconButton} from '../parts/icons.js';
import {inProject, moment, oneLine, plural} from '../core/format.js';
import {changeNodes, changesOf, changeWords, durationNode, failureNode} from './figures.js';
import {prose} from '../code/text.js';
import {folded} from '../parts/fold.js';
import {showBlock} from './tool.js';
import {iconOf, runFold, runsOf} from './worklog.js';
import {digest} from '../core/renew.js';
import {counts, pathText, statusLetter} from '../code/diff.js';

const LONG_PROMPT = 1400;

/**
 * `context`: {session: its id, folds: Set of open parts, whyNot(turn): why a rewind to it is impossible,
 * rewind(turn), menu(turn, place), whole(turn), diff(turn, file), review(turn), greyed: a future turn,
 * link(turn): the address of a turn that belongs to another view}
 */
export function renderTurn(turn, context) {
  const node = h(`article.turn${context.greyed ? '.future' : ''}`, {
    'data-turn': turn.turn,
    tabindex: '-1',
    'aria-label': `Turn ${turn.turn}: ${oneLine(turn.prompt, 80)}`,
  });
  if (turn.compactedBefore) node.append(compaction());
  node.append(
    h(
      'div.turn-body',
      {'data-part': 'body'},
      head(turn, context),
      prompt(turn, context),
      h('div.answer', {'data-part': 'answer'}, answer(turn, context)),
      turn.truncated ? wholeButton(turn, context) : null,
      missing(turn),
      context.greyed ? null : checkpoint(turn, context),
    ),
  );
  if (isAtHome(context)) node.addEventListener('contextmenu', event => onContext(event, turn, context));
  return node;
}

function onContext(event, turn, context) {
  // On selected text, the browser's own menu opens, because people copy from here.
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

function head(turn, context) {
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
    isAtHome(context) ? actions(turn, context) : null,
  );
}

/** Whether the turn belongs to this view: not a future turn, and not one of a comparison. */
function isAtHome(context) {
  return !context.greyed && !context.link;
}

function actions(turn, context) {
  const label = `Rewind to before this, turn ${turn.turn}`;
  const rewind = {reason: context.whyNot(turn), onclick: () => context.rewind(turn), label};
  const open = event => context.menu(turn, {anchor: event.currentTarget});
  return [
    button('rewind', rewind, icon('rewind'), h('span', 'Rewind to before this')),
    iconButton('more', `More for turn ${turn.turn}`, open, {
      'aria-haspopup': 'menu',
      'aria-expanded': 'false',
    }),
  ];
}

/** A button with the figures, which opens the review of all changes. */
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

/**
 * Updates whether a rewind to the turn is possible. The rest of the row stays, because people may read it.
 */
export function renewReason(row, reason) {
  const node = row.querySelector('.turn-head > .rewind');
  if (node) setReason(node, reason);
}

function prompt(turn, context) {
  const text = turn.prompt || '';
  const key = `${turn.turn} prompt`;
  const node = h('div.prompt', text || h('em.muted', 'No text'));
  if (text.length <= LONG_PROMPT && text.split('\n').length < 22) return node;
  const more = h('button.link', {onclick: () => show(!context.folds.has(key))});
  const show = open => {
    setMember(context.folds, key, open);
    node.classList.toggle('cut', !open);
    more.textContent = open ? 'Show less' : 'Show all of the prompt';
    more.setAttribute('aria-expanded', String(open));
  };
  show(context.folds.has(key));
  return h('div', node, more);
}

function answer(turn, context) {
  return runsOf(turn.blocks).flatMap(({blocks, run}) => {
    const make = () => blocks.map(([item, index]) => block(item, index, turn, context));
    if (!run) return make();
    const key = `${turn.turn} run ${blocks[0][1]}`;
    const indexes = blocks.map(([, n]) => n).join(' ');
    const about = {'data-of': digest(blocks), 'data-part': key, 'data-blocks': indexes};
    return [runFold(blocks, make, {folds: context.folds, key, ...about})];
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
  const line = [icon('thought'), h('span.fold-name', 'Thinking'), words];
  return fold('thinking', key, context, item, line, inside);
}

function toolLine(item) {
  const outcome = item.isError
    ? h('span.outcome.bad', 'failed')
    : item.done
      ? null
      : h('span.outcome', 'no result yet');
  return [
    icon(iconOf(item.about)),
    h('span.fold-name', item.name),
    h('code.clip', {title: oneLine(item.summary, 300)}, oneLine(inProject(item.summary), 160)),
    outcome,
  ];
}

/** A folded part. `content(place)` fills it when it is first opened. */
function fold(spec, key, context, item, summary, content) {
  const about = {'data-of': digest(item), 'data-block': /^\d+ (\d+)$/.exec(key)?.[1]};
  const options = {folds: context.folds, key, ...about};
  return folded(`folded.${spec}`, summary, h('div.fold-body'), content, options);
}

function picture({mediaType, data, omitted}) {
  const type = String(mediaType || '');
  const note = text => h('p.note', icon('image'), h('span', text));
  if (omitted || !data) return note('An image that is too large to show here.');
  // An SVG could contain scripts. The other types only contain pixels.
  if (!/^image\/(png|jpeg|gif|webp|bmp)$/.test(type))
    return note(`An image of a kind that is not shown (${type}).`);
  return h('img.picture', {src: `data:${type};base64,${data}`, alt: 'Image in the conversation'});
}

function wholeButton(turn, context) {
  const whole = h('button.link', {onclick: () => context.whole(turn)}, 'Show the whole turn');
  return h('p.shortened', icon('fold'), h('span', 'Some text was shortened. ', whole));
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

function fileButton({status, path, added, removed}, onclick) {
  const lines = added || removed ? counts(added || 0, removed || 0) : null;
  return h('button.file', {onclick}, statusLetter(status), pathText(path), lines);
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
    // If there are very many files, lines are only counted in the first ones.
    files.length && changes.counted === false ? h('span.muted', 'at least') : null,
    files.length ? counts(changes.added, changes.removed) : null,
  ];
  if (!files.length) return h('div.checkpoint.bare', {title: point.name}, ...shown);
  return fold('checkpoint', `${turn.turn} files`, context, [point, changes], shown, place =>
    fill(
      place,
      listOf('ul.files', files, file => fileButton(file, () => context.diff(turn, file))),
      changes.more ? h('p.muted', `and ${plural(changes.more, 'more file')}`) : null,
      point ? h('p.muted.small', 'Checkpoint ', h('code', point.name)) : null,
    ),
  );
}
