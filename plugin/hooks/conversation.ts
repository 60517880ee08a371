// What the client does with an outcome: another session, a text in the prompt box. And how many prompts its
// conversation has, for the client's own rewind says nothing but that there are fewer.
import type { EngineInterface } from 'claude-code'
import type { Outcome } from './rewind'

export const now = {
  turn: undefined as string | undefined, // the turn that is running
  prompts: 0, // in this conversation, when they were last counted
  gone: 0, // prompts that the client took back itself; its file does not say so before the next prompt
}

export async function count($: EngineInterface) {
  now.prompts = await $.session.turns()
  now.gone = 0
}

/** Must not be called inside a command.run hook, where the client refuses to run a command. */
export async function switchTo($: EngineInterface, session: string) {
  await $.command.run({ command: 'resume', args: session })
  // It resolves also when nothing was switched.
  if ((await $.session.id()) !== session) {
    throw new Error(`Claude Code did not switch to the other conversation. To open it: /resume ${session}`)
  }
  await count($)
}

export async function continueWith($: EngineInterface, done: Outcome) {
  if (done.resume) await switchTo($, done.resume)
  if (done.clear) {
    await $.command.run({ command: 'clear', args: '' })
    await count($)
  }
  if (done.draft !== null) await $.prompt.fill({ text: done.draft })
}
