// The answers of `rewind __plugin ACTION … --json`. Rewind makes every decision, and the plugin shows the answers.

/** What would happen. The person confirms it, and the digest says which plan was confirmed. */
export type Plan = {
  question: string
  lines: string[]
  files: string[]
  diff: string
  yes: string
  digest: string
  changes: number
  resume?: string | null // the session to resume before the plan is applied
  mode?: 'ask' | 'always' | 'never'
}

/** What was done, and what the client does next. */
export type Outcome = { resume: string | null; clear: boolean; draft: string | null; said: string }

/** A turn of the timeline. */
export type Row = {
  of: string
  uuid: string
  turn: number
  depth: number
  prompt: string
  figures: string
  here: boolean
}

export type Greeting = { line: string | null; wantsBand: boolean }

const INTERFACE = 1

/** The answer. If Rewind failed, this throws an error with Rewind's message. */
export const parsed = (done: { exitCode: number; stdout: string; stderr: string }) => {
  if (done.exitCode !== 0) throw new Error(sentence(done.stderr))
  const answer = JSON.parse(done.stdout)
  if (answer.interface === INTERFACE) return answer
  throw new Error('This plugin and the installed Rewind do not fit. Run `rewind install` in a shell.')
}

const sentence = (stderr: string): string => {
  const last = stderr.trim().split('\n').pop() ?? ''
  try {
    const { message, hint } = JSON.parse(last).error
    return `${message} ${hint ?? ''}`.trim()
  } catch {
    return last || 'Rewind failed without a message. Run `rewind doctor` in a shell.'
  }
}
