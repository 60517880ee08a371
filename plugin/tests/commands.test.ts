// Tests the module without a client: what it asks Rewind, and how it shows the answer.
import { expect, test } from 'claude-code/testing'

const TYPED = { origin: { kind: 'composer' }, presentation: { isFullscreen: true, columns: 100 } } as const

test('/goback passes on what was typed and decides nothing', async ($, on) => {
  const asked: string[][] = []
  const shown: string[] = []
  on('session.id', () => ({ value: 'one' }))
  on('session.cwd', () => ({ value: '/project' }))
  on('ui.toast', (_, e) => {
    shown.push(e.text)
    return { value: undefined }
  })
  on('process.run', (_, e) => {
    asked.push([...e.argv])
    const error = { error: { message: 'How many prompts?', hint: '/goback 2' } }
    const failed = { exitCode: 2, stdout: '', stderr: `a note\n${JSON.stringify(error)}\n` }
    return { value: { ...failed, isStdoutTruncated: false, isStderrTruncated: false } }
  })
  const answer = await $.command.run({ command: 'goback', args: 'two; rm -rf ~', ...TYPED })
  expect(answer).toEqual({})
  const argv = asked[0] ?? []
  expect(argv.slice(0, 3)).toEqual(['python3', '-I', '-S'])
  expect(argv).toContain('--typed=two; rm -rf ~')
  expect(argv).toContain('--project=/project')
  expect(shown).toEqual(['How many prompts? /goback 2'])
})

test('a Rewind that does not fit is named, with what to do', async ($, on) => {
  const shown: string[] = []
  on('session.id', () => ({ value: 'one' }))
  on('session.cwd', () => ({ value: '/project' }))
  on('ui.toast', (_, e) => {
    shown.push(e.text)
    return { value: undefined }
  })
  on('process.run', () => (
    { value: { exitCode: 0, stdout: '{"interface": 2}', stderr: '', isStdoutTruncated: false, isStderrTruncated: false } }))
  await $.command.run({ command: 'goforward', args: '', ...TYPED })
  expect(shown).toEqual(['This plugin and the installed Rewind do not fit. Run `rewind install` in a shell.'])
})
