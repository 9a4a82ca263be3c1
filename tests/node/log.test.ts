import { describe, expect, it } from 'vitest'
import { createLog, type LogFormat, type LogLevel } from '../../node/log.ts'
import { anAddress } from '../branded.ts'
import { createVirtualClock } from '../virtual-clock.ts'

const nodeAddress = anAddress(`0x${'a1'.repeat(20)}`)

function logTo(level: LogLevel, format: LogFormat = 'text') {
  const lines: string[] = []
  const clock = createVirtualClock(1_800_000_000_007)
  const write = (line: string) => lines.push(line)
  const log = createLog({ level, format, address: nodeAddress, clock, write })
  return { log, lines, clock }
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

describe('a warning that is repeated', () => {
  const denied = 'Job 0x11: CoFHE decrypt failed: FHE decrypt denied (403); trying again'
  const warningOf = (line: string) => line.replace(/^.*\[(WARNING|INFO|ERROR)\] \[.*?\] /, '$1 ')

  it('is written once, and then its count, at intervals that grow', async () => {
    const { log, lines, clock } = logTo('INFO')
    for (let second = 0; second < 400; second++) {
      log.warning(denied)
      await clock.advance(1_000)
    }
    log.end()
    expect(lines.map(warningOf)).toEqual([
      `WARNING ${denied}`,
      `WARNING ${denied} (59 more times in 59 s)`,
      `WARNING ${denied} (119 more times in 119 s)`,
      `WARNING ${denied} (221 more times in 221 s)`,
    ])
  })

  it('has its count before the next line about the same job', () => {
    const { log, lines } = logTo('INFO')
    for (let time = 0; time < 3; time++) log.warning(denied)
    log.warning(denied.replace('0x11', '0x22'))
    log.info('Heartbeat sent to ICL')
    log.error('Job 0x11: aborted: FHE decrypt denied (403)')
    log.error('Job 0x11: aborted: FHE decrypt denied (403)')
    expect(lines.map(warningOf)).toEqual([
      `WARNING ${denied}`,
      `WARNING ${denied.replace('0x11', '0x22')}`,
      'INFO Heartbeat sent to ICL',
      `WARNING ${denied} (2 more times in 0 s)`,
      'ERROR Job 0x11: aborted: FHE decrypt denied (403)',
      'ERROR Job 0x11: aborted: FHE decrypt denied (403)',
    ])
  })

  it('is the same with another wait in it, and another with another cause', async () => {
    const { log, lines, clock } = logTo('INFO')
    const failed = (seconds: number, why: string) =>
      log.warning(`Attestation failed, taking no work, next try in ${seconds} s: ${why}`)
    failed(5, 'refused (403)')
    await clock.advance(5_000)
    failed(10, 'refused (403)')
    failed(20, 'away (503)')
    expect(lines.map(warningOf)).toEqual([
      'WARNING Attestation failed, taking no work, next try in 5 s: refused (403)',
      'WARNING Attestation failed, taking no work, next try in 10 s: refused (403) (1 more time in 5 s)',
      'WARNING Attestation failed, taking no work, next try in 20 s: away (503)',
    ])
  })

  it('is written in full each time when it comes once a minute, and again after a pause', async () => {
    const { log, lines, clock } = logTo('INFO')
    for (const pauseMs of [60_000, 60_000, 5_000, 3_600_000, 0]) {
      log.warning('Heartbeat failed: no route')
      await clock.advance(pauseMs)
    }
    expect(lines.map(warningOf)).toEqual([
      'WARNING Heartbeat failed: no route',
      'WARNING Heartbeat failed: no route',
      'WARNING Heartbeat failed: no route',
      'WARNING Heartbeat failed: no route (1 more time in 5 s)',
      'WARNING Heartbeat failed: no route',
    ])
  })
})
