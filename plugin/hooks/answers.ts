// What `rewind __plugin ACTION … --json` answers. Every decision is made there; the plugin shows the answers.

/** What would happen, to be agreed to; the digest says which plan it was. */
export type Plan = {
  question: string
  lines: string[]
  files: string[]
  diff: string
  yes: string
  digest: string
  changes: number
  resume?: string | null // to be resumed before the plan is carried out
  mode?: 'ask' | 'always' | 'never'
}

/** What was done, and how the client goes on. */
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

/** The answer; an error is thrown with the sentence that Rewind has for it. */
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
