// Calls `rewind __plugin ACTION … --json`. Every decision is made there; the plugin shows the answers.
import type { EngineInterface } from 'claude-code'
import { PROGRAM, VERSION } from './program'

export type Plan = {
  question: string
  lines: string[]
  files: string[]
  diff: string
  yes: string
  digest: string
  changes: number
  resume?: string | null
  mode?: 'ask' | 'always' | 'never'
}
export type Outcome = { resume: string | null; clear: boolean; draft: string | null; said: string }
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
const LONGEST = 600_000 // ms; a restore of a very large project may take minutes

// The absolute path of the program, and Python without the environment's and the user's additions: neither
// PATH nor what lies in the project decides what runs.
function program($: EngineInterface): string[] {
  return PROGRAM.length > 0 ? [...PROGRAM] : ['python3', '-I', '-S', `${$.plugin.root}/lib/rewind/start.py`]
}

/** The answer as JSON; an error is thrown with the sentence that Rewind has for it. */
export async function ask<Answer>($: EngineInterface, asked: readonly string[]): Promise<Answer> {
  const argv = [...program($), '__plugin', ...asked, '--json', `--mod=${VERSION}`]
  const folder = await $.session.cwd()
  const done = await $.process
    .run([...argv, `--project=${folder}`], { cwd: folder, timeoutMs: LONGEST })
    .catch(problem => {
      throw new Error(`Rewind did not start (${problem}). Run \`rewind doctor\` in a shell.`)
    })
  if (done.exitCode === 0) {
    const answer = JSON.parse(done.stdout)
    if (answer.interface === INTERFACE) return answer
    throw new Error('This plugin and the installed Rewind do not fit. Run `rewind install` in a shell.')
  }
  throw new Error(sentence(done.stderr))
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
