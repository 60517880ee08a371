// Tests the timeline without a client: what is on a page, and how to reach the other pages.
import { expect, test } from 'claude-code/testing'

const TYPED = { origin: { kind: 'composer' }, presentation: { isFullscreen: true, columns: 100 } } as const
const ROWS = Array.from({ length: 30 }, (_, n) => (
  { of: 'one', uuid: `u${n + 1}`, turn: n + 1, depth: n % 2, prompt: `prompt of ${n + 1}`, figures: '+1 −0 in 1 file', here: n === 29 }))

test('older turns are on the next page', async ($, on) => {
  on('session.id', () => ({ value: 'one' }))
  on('session.cwd', () => ({ value: '/project' }))
  on('ui.open', () => ({ deny: '' }))
  on('ui.toast', () => ({ value: undefined }))
  on('process.run', () => {
    const stdout = JSON.stringify({ interface: 1, rows: ROWS })
    return { value: { exitCode: 0, stdout, stderr: '', isStdoutTruncated: false, isStderrTruncated: false } }
  })
  await $.command.run({ command: 'timeline', args: '', ...TYPED })
  const drawn = async () => JSON.stringify(
    await $.ui.render({ component: 'Pane', requestId: 'rewind-timeline', surface: 'terminal', props: { title: 'Timeline' } as never }))

  const page = await drawn()
  expect(page).toContain('30 prompt of 30 ')
  expect(page).toContain('◀ here')
  expect(page).toContain('└ ')
  expect(page).toContain('19 prompt of 19 ')
  expect(page.includes('18 prompt of 18 ')).toEqual(false)
  expect(page).toContain('… 18 older')

  await $.ui.press({ plugin: 'rewind', key: 'older' })
  const next = await drawn()
  expect(next).toContain('… 12 newer')
  expect(next).toContain('18 prompt of 18 ')
  expect(next).toContain('… 6 older')
  expect(next.includes('19 prompt of 19 ')).toEqual(false)

  await $.ui.press({ plugin: 'rewind', key: 'newer' })
  expect(await drawn()).toContain('… 18 older')
})
