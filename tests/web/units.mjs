// Unit tests of the page's modules that need no page; run by test_javascript.py under node.

import assert from 'node:assert/strict';
import test from 'node:test';

const {bytes, duration, oneLine, plural, visible} = await import('./static/core/format.js');
const {current, to} = await import('./static/core/route.js');
const {oneAtATime} = await import('./static/core/order.js');
const {runsOf, stepWords} = await import('./static/turns/worklog.js');
const {changeWords, figureWords} = await import('./static/turns/figures.js');
const {reversedHunk} = await import('./static/code/lines.js');
const {lanesOf, scaleOf, turnAt} = await import('./static/sessions/lanes.js');
const {Pushed} = await import('./static/turns/pushed.js');
const {state} = await import('./static/core/state.js');
const {heatLevel} = await import('./static/files/heat.js');
const {authorWords} = await import('./static/files/blame.js');

const tool = (about, isError = false) => ({kind: 'tool', about, isError});
const text = {kind: 'text', html: ''};

test('numbers as people read them', () => {
  assert.equal(plural(1, 'file'), '1 file');
  assert.equal(plural(1200, 'file'), '1,200 files');
  assert.equal(bytes(1536), '1.5 KB');
  assert.equal(duration(0.2), '< 1 s');
  assert.equal(duration(369), '6 min 9 s');
  assert.equal(duration(7260), '2 h 1 min');
  assert.equal(duration(null), '');
  assert.equal(oneLine(' a\n b ', 10), 'a b');
});

test('what steers a text unseen is written out, and what joins letters stays', () => {
  assert.equal(visible('invoice\u202efdp.exe'), 'invoice\\u202efdp.exe');
  assert.equal(oneLine('\x1b[31mred\x1b[0m'), '\\x1b[31mred\\x1b[0m');
  assert.equal(visible('👩\u200d👧 می\u200cخواهم'), '👩\u200d👧 می\u200cخواهم');
});

test('steps fold only where there are several', () => {
  const runs = runsOf([tool('read'), tool('edit'), text, tool('run'), {kind: 'thinking'}, tool('run', true)]);
  assert.deepEqual(runs.map(one => [one.run, one.blocks.map(([, index]) => index)]), [
    [false, [0, 1]],
    [false, [2]],
    [true, [3, 4, 5]],
  ]);
});

test('a run says what was done', () => {
  const blocks = [tool('read'), tool('read'), tool('edit', true), {kind: 'thinking'}].map((one, at) => [one, at]);
  assert.deepEqual(stepWords(blocks), {steps: '4 steps', words: '2 reads, 1 edit, 1 failed', failed: 1});
});

test('figures in words', () => {
  assert.equal(changeWords({files: 0}), '');
  assert.equal(changeWords({files: 2, added: 138, removed: 6}), '+138 −6 in 2 files');
  assert.equal(changeWords({files: 999, added: 5, removed: 0, counted: false}), 'at least +5 −0 in 999 files');
  assert.equal(figureWords({files: 1, added: 1, removed: 0, failures: 2, seconds: 5}), '+1 −0 in 1 file, 2 failures, 5 s');
});

test('addresses lead back to what they were made of', () => {
  const id = '0b7c/§ %';
  assert.deepEqual(current(to.session(id, 3, 'a/b c')), {view: 'session', session: id, turn: 3, words: 'a/b c'});
  assert.deepEqual(current(to.review(id, 2, 4)), {view: 'review', session: id, turns: [2, 4]});
  assert.deepEqual(current(to.review(id, 2)), {view: 'review', session: id, turns: [2, 2]});
  assert.deepEqual(current(to.find('x/y')), {view: 'find', words: 'x/y'});
  assert.deepEqual(current('#/nonsense/%'), {view: 'home'});
});

test('what is asked for while it is read is read once more', async () => {
  let reads = 0;
  const read = oneAtATime(async () => { reads += 1; });
  await Promise.all([read(), read(), read()]);
  assert.equal(reads, 2);
});

test('roots are ordered by what was done last below them', () => {
  const session = (sessionId, modified, parentSessionId = null) => ({sessionId, modified, parentSessionId, created: ''});
  const all = [session('old', '2026-01-01'), session('new', '2026-02-01'), session('fork', '2026-03-01', 'old')];
  state.sessions = new Map(all.map(one => [one.sessionId, one]));
  assert.deepEqual(state.roots().map(one => one.sessionId), ['old', 'new']);
});

test('forks that part later lie nearer to their parent, and begin where they part', () => {
  const root = {sessionId: 'root', turns: 10};
  const early = {sessionId: 'early', turns: 12, rewindFromTurn: 2};
  const late = {sessionId: 'late', turns: 8, rewindFromTurn: 7};
  const below = {sessionId: 'below', turns: 9, rewindFromTurn: 8};
  const forks = {root: [early, late], late: [below, root]}; // records may say that a root is a fork of its fork
  const lanes = lanesOf(root, session => forks[session.sessionId] || []);
  assert.deepEqual(
    lanes.map(({session, depth, start, end}) => [session.sessionId, depth, start, end]),
    [['root', 0, 0, 10], ['late', 1, 7, 8], ['below', 2, 8, 9], ['early', 1, 2, 12]],
  );
  const scale = scaleOf(lanes, [], 120, 0);
  assert.equal(scale(12), 120);
  assert.equal(scaleOf([{end: 1}], [], 1000, 0)(1), 56);
  assert.equal(turnAt(lanes[0], 51, scale), 5);
  assert.equal(turnAt(lanes[3], 0, scale), 2);
  assert.equal(turnAt({start: 0, end: 0}, 9, scale), 0);
});

test('a file is as hot as it changed, beside the one that changed most', () => {
  assert.deepEqual([0, 1, 2, 10, 100, 500].map(n => heatLevel(n, 100)), [0, 1, 1, 3, 4, 4]);
  assert.deepEqual([1, 2].map(n => heatLevel(n, 1)), [1, 1]);
});

test('who wrote a line, in words', () => {
  const words = run => Object.values(authorWords(run)).join('|');
  assert.equal(words({who: 'agent', turn: 4, prompt: 'Add it'}), 'Turn 4|Add it');
  assert.equal(words({who: 'agent', turn: null, prompt: ''}), 'Agent|');
  assert.equal(words({who: 'you', saved: true}), 'You|between turns');
  assert.equal(words({who: 'you', saved: false}), 'You|not in a checkpoint yet');
  assert.equal(words({who: 'git', commit: '1f0c9d2abcdef', summary: 'Users'}), 'git 1f0c9d2|Users');
});

test('turns are put together from what is pushed of them', () => {
  const pushed = new Pushed();
  const first = {from: 1, turns: [{turn: 1, blocks: ['a']}, {turn: 2, prompt: 'p', blocks: ['b', 'c']}]};
  assert.deepEqual(pushed.whole(first), first);
  const next = {from: 1, turns: [{turn: 1, same: true}, {turn: 2, done: true, blocks: ['d', 'e'], blocksFrom: 1}]}; // and what has not changed is left out
  assert.deepEqual(pushed.whole(next).turns, [
    {turn: 1, blocks: ['a']},
    {turn: 2, prompt: 'p', done: true, blocks: ['b', 'd', 'e']},
  ]);
  assert.equal(pushed.whole({turns: [{turn: 3, same: true}]}), null);
  assert.equal(pushed.whole({turns: [{turn: 2, blocks: [], blocksFrom: 9}]}), null);
  assert.equal(new Pushed().whole(next), null);
});

test('the address of a file at a point', () => {
  assert.equal(to.files(), '#/files/now');
  assert.deepEqual(current(to.files('20261116_101010_001', 'a b/c%.py')), {
    view: 'files',
    point: '20261116_101010_001',
    path: 'a b/c%.py',
  });
});

test('a hunk that comes back turns what came and what went around', () => {
  const same = n => ['same', n, n, `${n}`];
  const rows = [...Array(9).keys()].map(n => same(n + 1));
  rows.push(['del', 10, null, 'old'], ['add', null, 10, 'new'], same(11), same(12), same(13), same(14), same(15));
  rows.push(['add', null, 16, 'other']);
  const found = reversedHunk(rows, [{id: 'a', row: 9}, {id: 'b', row: 16}], 'a');
  assert.deepEqual(found.map(([kind, before, after]) => [kind, before, after]), [
    ['same', 7, 7], ['same', 8, 8], ['same', 9, 9],
    ['del', 10, null], ['add', null, 10],
    ['same', 11, 11], ['same', 12, 12], ['same', 13, 13],
  ]);
});
