import { describe, expect, it } from 'vitest'
import { createLog, type LogFormat, type LogLevel } from '../../node/log.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import { nodeAddress } from './fakes.ts'

function logTo(level: LogLevel, format: LogFormat = 'text') {
  const lines: string[] = []
  const clock = createVirtualClock(1_800_000_000_007)
  const write = (line: string) => lines.push(line)
  const log = createLog({ level, format, address: nodeAddress, clock, write })
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

describe('log lines as JSON', () => {
  it('hold time, level, the whole address and the message', () => {
    const { log, lines } = logTo('INFO', 'json')
    log.warning('it "failed"')
    expect(lines).toEqual([
      `{"time":"2027-01-15T08:00:00.007Z","level":"WARNING","address":"${nodeAddress}","message":"it \\"failed\\""}`,
    ])
  })

  it('cannot be forged, and quote exactly', () => {
    const { log, lines } = logTo('INFO', 'json')
    const message = 'a\nb\r\u001b[31m\u009b\u2028\u202e日本'
    log.info(message)
    expect(lines[0]).toContain('a\\nb\\r\\u001b[31m\\u009b\\u2028\\u202e日本')
    expect(JSON.parse(lines[0]!).message).toBe(message)
  })
})
