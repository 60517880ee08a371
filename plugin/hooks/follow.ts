// The client's own rewind (/rewind, Esc Esc) moves its conversation and leaves behind what shell commands did.
// It raises no event of its own: but it puts the prompt back into the box, and the conversation is shorter then.
import type { EngineInterface } from 'claude-code'
import { now } from './conversation'
import { tell } from './panes'
import { ask } from './rewind'
import type { Outcome, Plan } from './rewind'

const YES = 'Yes'
const NO = 'No'
const ALWAYS = 'Always'

/** True when prompts disappeared although no turn runs. Compaction, /clear and /resume count anew instead. */
export async function wasRewound($: EngineInterface): Promise<boolean> {
  if (now.turn !== undefined || now.prompts === 0) return false
  const left = await $.session.turns()
  if (left >= now.prompts) return false
  now.gone += now.prompts - left
  now.prompts = left
  return true
}

/** Asks once, and never acts unasked. */
export async function bringFiles($: EngineInterface) {
  const asked = ['follow', `--session=${await $.session.id()}`, `--gone=${now.gone}`]
  const plan = await ask<Plan>($, asked)
  if (plan.changes === 0 || plan.mode === 'never') return
  const answer = plan.mode === 'always' ? YES : await $.ui.ask(plan.question, [YES, NO, ALWAYS]).catch(() => NO)
  if (answer !== YES && answer !== ALWAYS) return
  const always = answer === ALWAYS ? ['--always'] : []
  const done = await ask<Outcome>($, [...asked, ...always, `--digest=${plan.digest}`])
  tell($, done.said)
}
