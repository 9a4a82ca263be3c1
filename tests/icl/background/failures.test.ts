import { expect, it } from 'vitest'
import { createWork } from '../../../icl/async/work.ts'
import { createPrometheus } from '../../../icl/start/prometheus.ts'
import { createFailures } from '../../../icl/telemetry/failures.ts'
import { instrumented } from '../../../icl/telemetry/instrumented.ts'
import type { Log } from '../../../icl/telemetry/log.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { createVirtualClock } from '../../virtual-clock.ts'

function world() {
  const clock = createVirtualClock()
  const logged: string[] = []
  const at =
    (level: string): Log['info'] =>
    (message, fields) =>
      void logged.push(`${level} ${message} ${JSON.stringify(fields)}`)
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  const failures = createFailures({ clock, log }, 'the chain fails', 60_000)
  return { clock, logged, failures, work: createWork({ clock, log }) }
}

it('calls of the chain that fail in passing are logged by method, and what it refuses is not', async () => {
  const { clock, logged, failures } = world()
  const away = new SvcError('chain-unavailable', 'away', { hint: '', retryable: true })
  let answer: unknown = away
  const read = () => (answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer))
  const chain = instrumented('chain', { read }, createPrometheus(), failures)
  // One call of two fails.
  for (let call = 0; call < 100; call++) {
    answer = call % 2 === 0 ? away : 'a block'
    await chain.read().catch(() => {})
    await clock.advance(1_000)
  }
  answer = new TypeError('a mistake')
  await chain.read().catch(() => {})
  answer = 'a block'
  await clock.advance(60_000)
  await chain.read()
  expect(logged).toHaveLength(3)
  expect(logged[0]).toMatch(/^warn the chain fails .*"work":"read"/)
  expect(logged[1]).toMatch(/^warn the chain fails .*"failures":31/)
  expect(logged[2]).toMatch(/^info the chain fails: over .*"failures":50/)
})

it('a store that is away for minutes is logged at its beginning, once a minute, and at its end, however much work waits', async () => {
  const { clock, logged, work } = world()
  const names = ['a', 'b', 'c', 'd']
  const away = async () => {
    throw new ProblemError('unavailable', 'The disk of the database is full')
  }
  for (let second = 0; second < 130; second++) {
    for (const name of names) await work.start(name, away)
    await clock.advance(1_000)
  }
  expect(logged).toHaveLength(3)
  expect(logged.every((line) => line.startsWith('warn background work failed'))).toBe(true)
  expect(logged[0]).toContain('The disk of the database is full')
  await clock.advance(10_000)
  for (const name of names) await work.start(name, async () => {})
  expect(logged).toHaveLength(4)
  expect(logged[3]).toMatch(/^info background work failed: over .*"seconds":140/)
})

it('what no waiting cures is an error of each piece of work', async () => {
  const { clock, logged, work } = world()
  const broken = async () => {
    throw new TypeError('planted')
  }
  for (const name of ['a', 'b', 'a', 'b']) {
    await work.start(name, broken)
    await clock.advance(1_000)
  }
  expect(logged.map((line) => line.slice(0, 5))).toEqual(['error', 'error'])
})

it('a second cause that begins while another lasts has a line of its own', async () => {
  const { logged, work } = world()
  const failsWith = (code: string) => async () => {
    throw new SvcError(code, `it fails: ${code}`, { hint: '', retryable: true })
  }
  await work.start('a', failsWith('chain-too-many-requests'))
  await work.start('b', failsWith('chain-wallet-empty'))
  expect(logged).toHaveLength(2)
  expect(logged[1]).toContain('chain-wallet-empty')
})
