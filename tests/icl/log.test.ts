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
