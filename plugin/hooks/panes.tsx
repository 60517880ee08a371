// The two panes: a plan to agree to, and the timeline.
import type { Args, EngineInterface } from 'claude-code'
import { continueWith, now, switchTo } from './conversation'
import { ask } from './rewind'
import type { Outcome, Plan, Row } from './rewind'

type PaneArgs = Extract<Args<'ui.render'>, { component: 'Pane' }>

export const PLAN = 'rewind-plan'
export const TIMELINE = 'rewind-timeline'
const SHOWN = 12 // rows of the timeline at a time

let plan: Plan | undefined
let action: string[] = [] // what made the plan; with its digest it carries the plan out
let working = ''
let rows: Row[] = []
let filter = ''

/** Shows a problem without a trace in the conversation. */
export function tell($: EngineInterface, problem: unknown) {
  $.ui.toast(problem instanceof Error ? problem.message : String(problem), { timeoutMs: 10_000 })
}

export async function openPlan($: EngineInterface, asked: string[]) {
  plan = await ask<Plan>($, asked)
  action = asked
  await $.ui.open({ id: PLAN, title: 'Rewind', focus: true, closeOnEscape: true, rows: 16, columns: 64 })
  $.ui.invalidate('ui.render')
}

async function carryOut($: EngineInterface, agreed: Plan) {
  if (working) return
  if (now.turn !== undefined) return tell($, 'A turn is running. Press Esc first.')
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
    if (agreed.resume && (await $.session.id()) !== was) await switchTo($, was)
    tell($, problem)
  } finally {
    working = ''
    plan = undefined
  }
}

export async function drawPlan($: EngineInterface, e: PaneArgs) {
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

export async function openTimeline($: EngineInterface) {
  rows = (await ask<{ rows: Row[] }>($, ['timeline', `--session=${await $.session.id()}`])).rows
  filter = ''
  await $.ui.open({ id: TIMELINE, title: 'Timeline', focus: true, closeOnEscape: true, rows: SHOWN + 3, columns: 72 })
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

const matching = () => {
  const wanted = filter.toLowerCase()
  return rows.filter(row => row.prompt.toLowerCase().includes(wanted)).slice(-SHOWN).reverse()
}

export async function drawTimeline($: EngineInterface, e: PaneArgs) {
  const { Box, Text, Button, Input } = $.ui.resolve(e)
  const found = matching()
  const first = found[0]
  return (
    <Box flexDirection="column">
      <Input key="filter" label="Go back to before: " placeholder="type to filter, arrows to move" autoFocus submitLabel="choose"
        onInput={value => { filter = value; $.ui.invalidate('ui.render') }}
        onSubmit={() => { if (first) void choose($, first) }} />
      {found.map(row => (
        <Button key={`${row.of}:${row.uuid}`} plain onPress={() => void choose($, row)}>
          {'  '.repeat(row.depth)}{row.depth > 0 ? '└ ' : ''}{`${row.turn} ${row.prompt} `}
          <Text dimColor>{row.figures}</Text>{row.here ? ' ◀ here' : ''}
        </Button>
      ))}
      {first ? null : <Text dimColor>No prompt contains this.</Text>}
    </Box>
  )
}
