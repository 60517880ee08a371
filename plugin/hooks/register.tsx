// Rewind inside Claude Code: /goback, /goforward, /timeline, and the files after the client's own rewind.
// Only events and calls that Claude Code 2.1.287 has: one unknown event name, and nothing here would load.
import type { EngineInterface, Register } from 'claude-code'
import { count, now } from './conversation'
import { drawPlan, drawTimeline, openPlan, openTimeline, PLAN, tell, TIMELINE } from './panes'

let isInteractive = true

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

export const register: Register = on => {
  on('session.start', async ($, e, next) => {
    const started = await next(e)
    isInteractive = e.isInteractive
    for (const command of COMMANDS) await $.command.register(command)
    await count($)
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
    }
    return done
  })
}
