// Rewind inside Claude Code: /goback, /goforward, /timeline, and the files after the client's own rewind.
// Only event names that Claude Code 2.1.287 has: one unknown name, and nothing here would load.
import type { EngineInterface, Register } from 'claude-code'
import { count, now } from './conversation'
import { bringFiles, wasRewound } from './follow'
import { drawPlan, drawTimeline, openPlan, openTimeline, PLAN, tell, TIMELINE } from './panes'
import { ask } from './rewind'
import type { Greeting } from './rewind'

const SETTLED = 3000 // ms after the start; by then the first hook has initialised the project
const RESUMED = 1500 // ms after a session's end; by then the other one is there

let isInteractive = true
let wantsBand = false
let band = ''

const COMMANDS = [
  { name: 'goback', description: 'Take back the last prompts: files and conversation', argumentHint: '[n] [--chat]', immediate: true },
  { name: 'goforward', description: 'Undo the last /goback', immediate: true },
  { name: 'timeline', description: 'Choose a turn to go back to', immediate: true },
] as const

// {} instead of { text }: no line on the screen, none in the session's file, none for the model.
async function answer($: EngineInterface, command: string, open: () => Promise<void>) {
  if (!isInteractive) return { text: `/${command} needs the interactive client. Use \`rewind\` in a shell.`, exitCode: 2 }
  if (now.turn !== undefined) {
    tell($, `A turn is running. Press Esc first, then /${command}.`)
    return {}
  }
  await open().catch(problem => tell($, problem))
  return {}
}

/** One line when something is wrong, none when all is well. */
async function greet($: EngineInterface) {
  const greeting = await ask<Greeting>($, ['start'])
  wantsBand = greeting.wantsBand
  if (greeting.line) $.ui.log(greeting.line)
}

async function redrawBand($: EngineInterface) {
  if (!wantsBand) return
  band = (await ask<{ band: string }>($, ['band', `--turns=${now.prompts}`])).band
  $.ui.invalidate('ui.render')
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
      openPlan($, ['goback', `--session=${await $.session.id()}`, `--gone=${now.gone}`, `--typed=${e.args}`])))
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
      now.turn = e.turnId
      now.gone = 0
    }
    return next(e)
  })
  on('turn.complete', async ($, e, next) => {
    const done = await next(e)
    if (e.agentId === undefined) {
      now.turn = undefined
      await count($)
      $.clock.after(1, () => redrawBand($).catch(() => {}))
    }
    return done
  })

  // Another conversation, or a shorter one: count anew. Nothing was rewound.
  on('session.end', ($, e, next) => {
    now.prompts = now.gone = 0
    $.clock.after(RESUMED, () => count($))
    return next(e)
  })
  on('session.compact', async ($, e, next) => {
    if (e.agentId === undefined) now.prompts = now.gone = 0
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
