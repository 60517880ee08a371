// Rewind inside Claude Code: /goback, /goforward, /timeline, and the files after the client's own rewind.
//
// It loads from 2.1.287 on: only event names that this version has (one unknown name, and nothing here would
// load), and one file for all that uses `$`, which that version does not follow across an import.
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
const SHOWN = 12 // rows of the timeline at a time
const LONGEST = 600_000 // ms; a restore of a very large project may take minutes
const SETTLED = 3000 // ms after the start; by then the first hook has initialised the project
const RESUMED = 1500 // ms after a session's end; by then the other one is there

let isInteractive = true
let runningTurn: string | undefined
let prompts = 0 // in this conversation, when they were last counted
let gone = 0 // prompts that the client took back itself; its file does not say so before the next prompt
let plan: Plan | undefined
let action: string[] = [] // what made the plan; with its digest it carries the plan out
let working = ''
let rows: Row[] = []
let filter = ''
let passed = 0 // newer rows above those that are shown
let wantsBand = false
let band = ''

// Rewind

// The absolute path of the program, and Python without the environment's and the user's additions: neither
// PATH nor what lies in the project decides what an installed plugin runs.
async function ask<Answer>($: EngineInterface, asked: readonly string[]): Promise<Answer> {
  const program = PROGRAM.length > 0 ? PROGRAM : ['python3', '-I', '-S', `${$.plugin.root}/lib/rewind/start.py`]
  const folder = await $.session.cwd()
  const argv = [...program, '__plugin', ...asked, '--json', `--mod=${VERSION}`, `--project=${folder}`]
  const done = await $.process.run(argv, { cwd: folder, timeoutMs: LONGEST }).catch(problem => {
    throw new Error(`Rewind did not start (${problem}). Run \`rewind doctor\` in a shell.`)
  })
  return parsed(done)
}

/** A box for some seconds: no trace in the conversation. */
function tell($: EngineInterface, problem: unknown) {
  $.ui.toast(problem instanceof Error ? problem.message : String(problem), { timeoutMs: 10_000 })
}

// the conversation

async function count($: EngineInterface) {
  prompts = await $.session.turns()
  gone = 0
}

/** Not inside a command.run hook: there the client refuses to run a command. */
async function switchTo($: EngineInterface, session: string) {
  await $.command.run({ command: 'resume', args: session })
  // It resolves also when nothing was switched.
  if ((await $.session.id()) !== session) {
    throw new Error(`Claude Code did not switch to the other conversation. To open it: /resume ${session}`)
  }
  await count($)
}

async function continueWith($: EngineInterface, done: Outcome) {
  if (done.resume) await switchTo($, done.resume)
  if (done.clear) {
    await $.command.run({ command: 'clear', args: '' })
    await count($)
  }
  if (done.draft !== null) await $.prompt.fill({ text: done.draft })
}

// a plan, and carrying it out

async function openPlan($: EngineInterface, asked: string[]) {
  plan = await ask<Plan>($, asked)
  action = asked
  await $.ui.open({ id: PLAN, title: 'Rewind', focus: true, closeOnEscape: true, rows: 16, columns: 64 })
  $.ui.invalidate('ui.render')
}

async function carryOut($: EngineInterface, agreed: Plan) {
  if (working) return
  if (runningTurn !== undefined) return tell($, 'A turn is running. Press Esc first.')
  working = agreed.yes
  $.ui.invalidate('ui.render')
  const was = await $.session.id()
  try {
    // A fork that is still open would not be removed, so first return, then undo.
    if (agreed.resume) await switchTo($, agreed.resume)
    const done = await ask<Outcome>($, [...action, `--digest=${agreed.digest}`])
    await $.ui.close({ id: PLAN })
    await continueWith($, done)
    $.ui.toast(done.said)
  } catch (problem) {
    await $.ui.close({ id: PLAN })
    tell($, problem)
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
      <Button key="yes" variant="primary" autoFocus onPress={() => void carryOut($, shown)}>{shown.yes}</Button>
      <Button key="no" onPress={() => void $.ui.close({ id: PLAN })}>Cancel (Esc)</Button>
      {shown.diff ? <Code source={shown.diff} language="diff" /> : null}
    </Box>
  )
}

// the timeline

async function openTimeline($: EngineInterface) {
  rows = (await ask<{ rows: Row[] }>($, ['timeline', `--session=${await $.session.id()}`])).rows
  filter = ''
  passed = 0
  await $.ui.open({ id: TIMELINE, title: 'Timeline', focus: true, closeOnEscape: true, rows: SHOWN + 5, columns: 72 })
  $.ui.invalidate('ui.render')
}

async function choose($: EngineInterface, row: Row) {
  try {
    await $.ui.close({ id: TIMELINE })
    await openPlan($, ['turn', `--session=${await $.session.id()}`, `--of=${row.of}`, `--uuid=${row.uuid}`])
  } catch (problem) {
    tell($, problem)
  }
}

/** Newest first. A turn is found by its number as well. */
const matching = () => {
  const wanted = filter.toLowerCase()
  return rows.filter(row => `${row.turn} ${row.prompt}`.toLowerCase().includes(wanted)).reverse()
}

function turnPage($: EngineInterface, by: number) {
  passed = Math.max(0, passed + by)
  $.ui.invalidate('ui.render')
}

async function drawTimeline($: EngineInterface, e: PaneArgs) {
  const { Box, Text, Button, Input } = $.ui.resolve(e)
  const found = matching()
  const shown = found.slice(passed, passed + SHOWN)
  const older = found.length - passed - shown.length
  const first = shown[0]
  return (
    <Box flexDirection="column">
      <Input key="filter" label="Go back to before" placeholder="type to filter, arrows to move" autoFocus submitLabel="choose"
        onInput={value => { filter = value; passed = 0; $.ui.invalidate('ui.render') }}
        onSubmit={() => { if (first) void choose($, first) }} />
      {passed > 0 ? <Button key="newer" plain onPress={() => turnPage($, -SHOWN)}>{`… ${passed} newer`}</Button> : null}
      {shown.map(row => (
        <Button key={`${row.of}:${row.uuid}`} plain onPress={() => void choose($, row)}>
          {'  '.repeat(row.depth)}{row.depth > 0 ? '└ ' : ''}{`${row.turn} ${row.prompt} `}
          <Text dimColor>{row.figures}</Text>{row.here ? ' ◀ here' : ''}
        </Button>
      ))}
      {older > 0 ? <Button key="older" plain onPress={() => turnPage($, SHOWN)}>{`… ${older} older`}</Button> : null}
      {first ? null : <Text dimColor>No prompt contains this.</Text>}
    </Box>
  )
}

// the client's own rewind

// /rewind and Esc Esc raise no event of their own. But they put the prompt back into the box, and the
// conversation is shorter then although no turn runs. Compaction, /clear and /resume count anew instead.
async function wasRewound($: EngineInterface): Promise<boolean> {
  if (runningTurn !== undefined || prompts === 0) return false
  const left = await $.session.turns()
  if (left >= prompts) return false
  gone += prompts - left
  prompts = left
  return true
}

/** Asks once, and never acts unasked. */
async function bringFiles($: EngineInterface) {
  const asked = ['follow', `--session=${await $.session.id()}`, `--gone=${gone}`]
  const found = await ask<Plan>($, asked)
  if (found.changes === 0 || found.mode === 'never') return
  const chosen = found.mode === 'always' ? YES : await $.ui.ask(found.question, [YES, NO, ALWAYS]).catch(() => NO)
  if (chosen !== YES && chosen !== ALWAYS) return
  const always = chosen === ALWAYS ? ['--always'] : []
  const done = await ask<Outcome>($, [...asked, ...always, `--digest=${found.digest}`])
  tell($, done.said)
}

// at the start, and above the prompt

/** One line when something is wrong, none when all is well. */
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

// {} instead of { text }: no line on the screen, none in the session's file, none for the model.
async function answer($: EngineInterface, command: string, open: () => Promise<void>) {
  if (!isInteractive) return { text: `/${command} needs the interactive client. Use \`rewind\` in a shell.`, exitCode: 2 }
  if (runningTurn !== undefined) {
    tell($, `A turn is running. Press Esc first, then /${command}.`)
    return {}
  }
  await open().catch(problem => tell($, problem))
  return {}
}

export const register: Register = on => {
  on('session.start', async ($, e, next) => {
    const started = await next(e)
    isInteractive = e.isInteractive
    for (const command of COMMANDS) await $.command.register(command)
    await count($)
    if (isInteractive) {
      $.clock.after(SETTLED, () => greet($).then(() => redrawBand($)).catch(problem => $.ui.log(`${problem}`)))
    }
    return started
  })

  on('command.run', { command: 'goback' }, async ($, e) =>
    answer($, 'goback', async () =>
      openPlan($, ['goback', `--session=${await $.session.id()}`, `--gone=${gone}`, `--typed=${e.args}`])))
  on('command.run', { command: 'goforward' }, async $ =>
    answer($, 'goforward', async () => openPlan($, ['goforward', `--session=${await $.session.id()}`])))
  on('command.run', { command: 'timeline' }, async $ => answer($, 'timeline', () => openTimeline($)))

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
      gone = 0
    }
    return next(e)
  })
  on('turn.complete', async ($, e, next) => {
    const done = await next(e)
    if (e.agentId === undefined) {
      runningTurn = undefined
      await count($)
      $.clock.after(1, () => redrawBand($).catch(() => {}))
    }
    return done
  })

  // Another conversation, or a shorter one: count anew. Nothing was rewound.
  on('session.end', ($, e, next) => {
    runningTurn = undefined
    prompts = gone = 0
    $.clock.after(RESUMED, () => count($))
    return next(e)
  })
  on('session.compact', async ($, e, next) => {
    if (e.agentId === undefined) prompts = gone = 0
    const compacted = await next(e)
    if (e.agentId === undefined) $.clock.after(RESUMED, () => count($))
    return compacted
  }).catch(($, e, next) => next(e))

  // `prompt.change`, which is younger than 2.1.287: a pattern that selects it loads there all the same.
  on('prompt.*', { origin: { kind: 'engine' } }, async ($, e, next) => {
    if (isInteractive && (await wasRewound($))) {
      $.clock.after(1, () => bringFiles($).catch(problem => tell($, problem)))
    }
    return next(e)
  }).catch(($, e, next) => next(e))
}
