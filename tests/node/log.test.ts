import { describe, expect, it } from 'vitest'
import { createLog, type LogLevel } from '../../node/log.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import { nodeAddress } from './fakes.ts'

function logTo(level: LogLevel) {
  const lines: string[] = []
  const clock = createVirtualClock(1_800_000_000_000)
  const log = createLog({ level, address: nodeAddress, clock, write: (line) => lines.push(line) })
  return { log, lines }
}

describe('log lines', () => {
  it('have the format of the specification', () => {
    const { log, lines } = logTo('DEBUG')
    log.debug('a')
    log.info('b')
    log.warning('c')
    log.error('d')
    expect(lines).toEqual([
      '[2027-01-15T08:00:00] [DEBUG] [0xa1a1..a1a1] a',
      '[2027-01-15T08:00:00] [INFO] [0xa1a1..a1a1] b',
      '[2027-01-15T08:00:00] [WARNING] [0xa1a1..a1a1] c',
      '[2027-01-15T08:00:00] [ERROR] [0xa1a1..a1a1] d',
    ])
  })

  it('cannot be forged by what they quote', () => {
    const { log, lines } = logTo('INFO')
    log.info('prompt\n[2027-01-15T08:00:00] [ERROR] forged\r\u001b[31mred\u2028\u0000\u202egnp')
    expect(lines).toEqual([
      '[2027-01-15T08:00:00] [INFO] [0xa1a1..a1a1] prompt\\n[2027-01-15T08:00:00] [ERROR] forged\\u000d\\u001b[31mred\\u2028\\u0000\\u202egnp',
    ])
  })

  it('stay whole when they are long or in another script', () => {
    const { log, lines } = logTo('INFO')
    log.info(`日本語 ${'x'.repeat(20_000)}`)
    expect(lines[0]).toHaveLength(
      '[2027-01-15T08:00:00] [INFO] [0xa1a1..a1a1] 日本語 '.length + 20_000,
    )
  })

  for (const [level, count] of [
    ['DEBUG', 4],
    ['INFO', 3],
    ['WARNING', 2],
    ['ERROR', 1],
  ] as const) {
    it(`are ${count} of 4 at level ${level}`, () => {
      const { log, lines } = logTo(level)
      log.debug('a')
      log.info('b')
      log.warning('c')
      log.error('d')
      expect(lines).toHaveLength(count)
    })
  }
})
