import { expect, it } from 'vitest'
import { createJsonLog } from '../../icl/start/log.ts'
import { systemClock } from '../../lib/system.ts'

it('a line of the log says what happened, and reverses no text on a terminal', () => {
  const lines: string[] = []
  const log = createJsonLog(systemClock, 'info', (line) => lines.push(line))
  const name = '\u202egpj.\u001b[2J\u2028'
  log.warn('away', { name })
  log.debug('not asked for')
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(/^[ -~]+\n$/)
  expect(JSON.parse(lines[0]!)).toMatchObject({ level: 'warn', message: 'away', name })
})

it('a line is one object with its time, level and message first, with and without other fields', () => {
  const lines: string[] = []
  let now = 1_700_000_000_007
  const log = createJsonLog({ ...systemClock, now: () => now }, 'debug', (line) => lines.push(line))
  log.info('begun')
  log.info('said "{}"', { jobId: '0x1', node: undefined, count: 2 })
  log.error('left out', { node: undefined })
  now += 1_993
  log.debug('later', { isLate: true })
  expect(lines.join('')).toBe(`{"time":"2023-11-14T22:13:20.007Z","level":"info","message":"begun"}
{"time":"2023-11-14T22:13:20.007Z","level":"info","message":"said \\"{}\\"","jobId":"0x1","count":2}
{"time":"2023-11-14T22:13:20.007Z","level":"error","message":"left out"}
{"time":"2023-11-14T22:13:22.000Z","level":"debug","message":"later","isLate":true}
`)
})
