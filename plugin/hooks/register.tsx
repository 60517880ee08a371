// Rewind inside Claude Code: /goback, /goforward, /timeline, and the files after the client's own rewind.
//
// It works from Claude Code 2.1.287 on. So it uses only event names that this version knows, because one unknown
// name would prevent loading. And everything that uses `$` is in this file, because that version does not follow
// `$` into an imported one.
import type { Args, EngineInterface, Register } from 'claude-code'
import { parsed } from './answers'
import type { Greeting, Outcome, Plan, Row } from './answers'
import { PROGRAM, VERSION } from './program'

type PaneArgs = Extract<Args<'ui.render'>, { component: 'Pane' }>

const COMMANDS = [
  { name: 'goback', description: 'Take back the last prompts: files and conversation', argumentHint: '[n] [--chat]', immediate: true },
  { name: 'goforward', description: 'Undo the last /goback', immediate: true },
  { name: 'timeline', description: 'Choose a turn to go back to', immediate: true },
] as const
const PLAN = 'rewind-plan'
const TIMELINE = 'rewind-timeline'
const [YES, NO, ALWAYS] = ['Yes', 'No', 'Always']
const PAGE_ROWS = 12 // rows of the timeline at a time
const TIMEOUT = 600_000 // ms; a restore of a very large project may take minutes
const GREETING_DELAY = 3000 // ms after the start; by then the first hook has initialised the project
const RESUME_DELAY = 1500 // ms after the end of a session; by then the next one is open

let isInteractive = true
let runningTurn: string | undefined
let prompts = 0 // in this conversation, when they were last counted
let takenBack = 0 // prompts that the client took back itself; its file shows that only after the next prompt
let plan: Plan | undefined
let action: string[] = [] // the arguments that made the plan; with the plan's digest, they apply it
let working = ''
let rows: Row[] = []
let filter = ''
let newerRows = 0 // rows above those that are shown
let wantsBand = false
let band = ''

// Rewind

// An installed plugin calls the program by its absolute path, and Python ignores the environment and the user's
// packages. So neither PATH nor a file in the project decides what runs.
async function ask<Answer>($: EngineInterface, asked: readonly string[]): Promise<Answer> {
  const program = PROGRAM.length > 0 ? PROGRAM : ['python3', '-I', '-S', `${$.plugin.root}/lib/rewind/start.py`]
  const folder = await $.session.cwd()
  const argv = [...program, '__plugin', ...asked, '--json', `--mod=${VERSION}`, `--project=${folder}`]
  const done = await $.process.run(argv, { cwd: folder, timeoutMs: TIMEOUT }).catch(problem => {
    throw new Error(`Rewind did not start (${problem}). Run \`rewind doctor\` in a shell.`)
  })
  return parsed(done)
}

/** Shows a message for some seconds, without a trace in the conversation. */
function notify($: EngineInterface, problem: unknown) {
  $.ui.toast(problem instanceof Error ? problem.message : String(problem), { timeoutMs: 10_000 })
}

// the conversation

async function countPrompts($: EngineInterface) {
  prompts = await $.session.turns()
  takenBack = 0
}

/** Must not be called inside a command.run hook, where the client refuses to run a command. */
async function switchTo($: EngineInterface, session: string) {
  await $.command.run({ command: 'resume', args: session })
  // The promise also resolves if the client did not switch.
  if ((await $.session.id()) !== session) {
    throw new Error(`Claude Code did not switch to the other conversation. To open it: /resume ${session}`)
  }
  await countPrompts($)
}

async function continueWith($: EngineInterface, done: Outcome) {
  if (done.resume) await switchTo($, done.resume)
  if (done.clear) {
    await $.command.run({ command: 'clear', args: '' })
    await countPrompts($)
  }
  if (done.draft !== null) await $.prompt.fill({ text: done.draft })
}

// a plan, and applying it

async function openPlan($: EngineInterface, asked: string[]) {
  plan = await ask<Plan>($, asked)
  action = asked
  await $.ui.open({ id: PLAN, title: 'Rewind', focus: true, closeOnEscape: true, rows: 16, columns: 64 })
  $.ui.invalidate('ui.render')
}

async function applyPlan($: EngineInterface, agreed: Plan) {
  if (working) return
  if (runningTurn !== undefined) return notify($, 'A turn is running. Press Esc first.')
  working = agreed.yes
  $.ui.invalidate('ui.render')
  const was = await $.session.id()
  try {
    // Undo would not remove a fork that is still open, so first switch to the other session.
    if (agreed.resume) await switchTo($, agreed.resume)
    const done = await ask<Outcome>($, [...action, `--digest=${agreed.digest}`])
    await $.ui.close({ id: PLAN })
    await continueWith($, done)
    $.ui.toast(done.said)
  } catch (problem) {
    await $.ui.close({ id: PLAN })
    notify($, problem)
    if (agreed.resume && (await $.session.id()) !== was) await switchTo($, was)
  } finally {
    working = ''
    plan = undefined
  }
}

async function drawPlan($: EngineInterface, e: PaneArgs) {
  const { Box, Text, Button, Code, Progress } = $.ui.resolve(e)
  if (working) return <Progress label={working} />
  const shown = plan
  if (!shown) return <Text dimColor>Nothing to show.</Text>
  return (
    <Box flexDirection="column">
      <Text bold>{shown.question}</Text>
      {shown.lines.map(line => <Text>{line}</Text>)}
      {shown.files.map(line => <Text dimColor>  {line}</Text>)}
      <Button key="yes" variant="primary" autoFocus onPress={() => void applyPlan($, shown)}>{shown.yes}</Button>
      <Button key="no" onPress={() => void $.ui.close({ id: PLAN })}>Cancel (Esc)</Button>
      {shown.diff ? <Code source={shown.diff} language="diff" /> : null}
    </Box>
  )
}

// the timeline

async function openTimeline($: EngineInterface) {
  rows = (await ask<{ rows: Row[] }>($, ['timeline', `--session=${await $.session.id()}`])).rows
  filter = ''
  newerRows = 0
  await $.ui.open({ id: TIMELINE, title: 'Timeline', focus: true, closeOnEscape: true, rows: PAGE_ROWS + 5, columns: 72 })
  $.ui.invalidate('ui.render')
}

async function choose($: EngineInterface, row: Row) {
  try {
    await $.ui.close({ id: TIMELINE })
    await openPlan($, ['turn', `--session=${await $.session.id()}`, `--of=${row.of}`, `--uuid=${row.uuid}`])
  } catch (problem) {
    notify($, problem)
  }
}

/** The rows that match the filter by text or number, newest first. */
const matching = () => {
  const wanted = filter.toLowerCase()
  return rows.filter(row => `${row.turn} ${row.prompt}`.toLowerCase().includes(wanted)).reverse()
}

function turnPage($: EngineInterface, by: number) {
  newerRows = Math.max(0, newerRows + by)
  $.ui.invalidate('ui.render')
}

async function drawTimeline($: EngineInterface, e: PaneArgs) {
  const { Box, Text, Button, Input } = $.ui.resolve(e)
  const found = matching()
  const shown = found.slice(newerRows, newerRows + PAGE_ROWS)
  const older = found.length - newerRows - shown.length
  const first = shown[0]
  return (
    <Box flexDirection="column">
      <Input key="filter" label="Go back to before" placeholder="type to filter, arrows to move" autoFocus submitLabel="choose"
        onInput={value => { filter = value; newerRows = 0; $.ui.invalidate('ui.render') }}
        onSubmit={() => { if (first) void choose($, first) }} />
      {newerRows > 0 ? <Button key="newer" plain onPress={() => turnPage($, -PAGE_ROWS)}>{`… ${newerRows} newer`}</Button> : null}
      {shown.map(row => (
        <Button key={`${row.of}:${row.uuid}`} plain onPress={() => void choose($, row)}>
          {'  '.repeat(row.depth)}{row.depth > 0 ? '└ ' : ''}{`${row.turn} ${row.prompt} `}
          <Text dimColor>{row.figures}</Text>{row.here ? ' ◀ here' : ''}
        </Button>
      ))}
      {older > 0 ? <Button key="older" plain onPress={() => turnPage($, PAGE_ROWS)}>{`… ${older} older`}</Button> : null}
      {first ? null : <Text dimColor>No prompt contains this.</Text>}
    </Box>
  )
}

// the client's own rewind

// /rewind and Esc Esc raise no event. But they put the prompt back into the box, and the conversation is then
// shorter although no turn runs. After a compaction, /clear and /resume the prompts are counted again instead.
async function wasRewound($: EngineInterface): Promise<boolean> {
  if (runningTurn !== undefined || prompts === 0) return false
  const left = await $.session.turns()
  if (left >= prompts) return false
  takenBack += prompts - left
  prompts = left
  return true
}

/** Asks once whether to restore the files as well. Without a question only if the person chose "Always". */
async function offerFiles($: EngineInterface) {
  const asked = ['follow', `--session=${await $.session.id()}`, `--gone=${takenBack}`]
  const found = await ask<Plan>($, asked)
  if (found.changes === 0 || found.mode === 'never') return
  const chosen = found.mode === 'always' ? YES : await $.ui.ask(found.question, [YES, NO, ALWAYS]).catch(() => NO)
  if (chosen !== YES && chosen !== ALWAYS) return
  const always = chosen === ALWAYS ? ['--always'] : []
  const done = await ask<Outcome>($, [...asked, ...always, `--digest=${found.digest}`])
  notify($, done.said)
}

// at the start, and above the prompt

/** Shows one line if something is wrong. */
async function greet($: EngineInterface) {
  const greeting = await ask<Greeting>($, ['start'])
  wantsBand = greeting.wantsBand
  if (greeting.line) $.ui.log(greeting.line)
}

async function redrawBand($: EngineInterface) {
  if (!wantsBand) return
  band = (await ask<{ band: string }>($, ['band', `--turns=${prompts}`])).band
  $.ui.invalidate('ui.render')
}

// Returns {} instead of { text }, so that nothing is written on the screen, in the session's file or to the model.
async function runCommand($: EngineInterface, command: string, open: () => Promise<void>) {
  if (!isInteractive) return { text: `/${command} needs the interactive client. Use \`rewind\` in a shell.`, exitCode: 2 }
  if (runningTurn !== undefined) {
    notify($, `A turn is running. Press Esc first, then /${command}.`)
    return {}
  }
  await open().catch(problem => notify($, problem))
  return {}
}

export const register: Register = on => {
  on('session.start', async ($, e, next) => {
    const started = await next(e)
    isInteractive = e.isInteractive
    for (const command of COMMANDS) await $.command.register(command)
    await countPrompts($)
    if (isInteractive) {
      $.clock.after(GREETING_DELAY, () => greet($).then(() => redrawBand($)).catch(problem => $.ui.log(`${problem}`)))
    }
    return started
  })

  on('command.run', { command: 'goback' }, async ($, e) =>
    runCommand($, 'goback', async () =>
      openPlan($, ['goback', `--session=${await $.session.id()}`, `--gone=${takenBack}`, `--typed=${e.args}`])))
  on('command.run', { command: 'goforward' }, async $ =>
    runCommand($, 'goforward', async () => openPlan($, ['goforward', `--session=${await $.session.id()}`])))
  on('command.run', { command: 'timeline' }, async $ => runCommand($, 'timeline', () => openTimeline($)))

  on('ui.render', { component: 'Pane', requestId: PLAN }, ($, e) => drawPlan($, e))
  on('ui.render', { component: 'Pane', requestId: TIMELINE }, ($, e) => drawTimeline($, e))
  on('ui.render', { component: 'AbovePrompt' }, async ($, e, next) => {
    if (!band) return next(e)
    const { Text } = $.ui.resolve(e)
    return <Text dimColor>{band}</Text>
  })

  on('turn.start', ($, e, next) => {
    if (e.agentId === undefined) {
      runningTurn = e.turnId
      takenBack = 0
    }
    return next(e)
  })
  on('turn.complete', async ($, e, next) => {
    const done = await next(e)
    if (e.agentId === undefined) {
      runningTurn = undefined
      await countPrompts($)
      $.clock.after(1, () => redrawBand($).catch(() => {}))
    }
    return done
  })

  // The conversation is another one, or shorter without a rewind. Count the prompts again.
  on('session.end', ($, e, next) => {
    runningTurn = undefined
    prompts = takenBack = 0
    $.clock.after(RESUME_DELAY, () => countPrompts($))
    return next(e)
  })
  on('session.compact', async ($, e, next) => {
    if (e.agentId === undefined) prompts = takenBack = 0
    const compacted = await next(e)
    if (e.agentId === undefined) $.clock.after(RESUME_DELAY, () => countPrompts($))
    return compacted
  }).catch(($, e, next) => next(e))

  // This means `prompt.change`. Claude Code 2.1.287 does not know that name, but loads a pattern that matches it.
  on('prompt.*', { origin: { kind: 'engine' } }, async ($, e, next) => {
    if (isInteractive && (await wasRewound($))) {
      $.clock.after(1, () => offerFiles($).catch(problem => notify($, problem)))
    }
    return next(e)
  }).catch(($, e, next) => next(e))
}
