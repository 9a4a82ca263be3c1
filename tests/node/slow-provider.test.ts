import { afterEach, beforeEach, expect, it } from 'vitest'
import { elapsedSince } from '../../lib/clock.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Completion } from '../../node/inference/provider.ts'
import { modelId } from '../icl/test-icl.ts'
import { prepareDaemon, type RunningDaemon, startDaemon } from './real-daemon.ts'
import { type RealIcl, startRealIcl } from './real-icl.ts'

// Three real daemons of two slots and the real ICL on a virtual clock, with a provider that is slow or fails.

let icl: RealIcl
let daemons: RunningDaemon[]
let requests: Map<string, number>
beforeEach(async () => {
  icl = await startRealIcl()
  daemons = []
  requests = new Map()
  for (const name of ['a', 'b', 'c']) {
    const prepared = await prepareDaemon(icl, name)
    const complete = async (asked: Completion) => await answer(name, asked)
    const models = new Map([[modelId, { provider: { complete }, model: 'test' }]])
    const deps = {
      ...prepared.deps,
      models,
      offer: { now: models, withdrawn: new Map(), onChange: () => {} },
    }
    const expiresAt = await icl.clock.until(prepared.attestOnce())
    daemons.push(startDaemon(icl, { ...prepared, deps }, expiresAt))
  }
  await icl.clock.advance(1_000)
})
afterEach(async () => {
  for (const daemon of daemons) await daemon.stop()
  await icl.stop()
})

/** Prompts name the seconds that the provider takes, and say whether it fails then. */
async function answer(node: string, { prompt, mayCall, signal }: Completion) {
  const words = String(prompt.messages[0]?.content)
  if (mayCall?.() === false) throw new TypeError('asked without a request left')
  const key = `${node} ${words}`
  requests.set(key, (requests.get(key) ?? 0) + 1)
  await icl.clock.sleep(1_000 * Number.parseInt(words, 10), signal)
  if (words.includes('fail')) throw new SvcError('provider-unavailable', 'no', { hint: 'Wait.' })
  return { text: 'Four.', ended: 'stop', usage: { input_tokens: 9, output_tokens: 1_000 } } as const
}

type Asked = Awaited<ReturnType<RealIcl['ask']>>

const statusOf = async ({ view }: Asked) => (await icl.clock.until(view())).status

/** Asks a prompt, and returns the status in which its job settles, and the milliseconds until then. */
async function answered(prompt: string) {
  const startedAt = icl.clock.monotonic()
  const asked = await icl.ask(prompt)
  for (;;) {
    const status = await statusOf(asked)
    const ms = elapsedSince(icl.clock, startedAt)
    if (status !== 'open' && status !== 'running') return { status, ms }
    await icl.clock.advance(250)
  }
}

it('an answer that takes 150 s is accepted, before and after its nodes have measured their speed', async () => {
  for (const prompt of ['150 first', '150 second']) {
    expect((await answered(prompt)).status).toBe('accepted')
  }
  expect([...requests.values()]).toEqual(Array(6).fill(1))
})

it('a good job next to six whose provider fails waits at most twice as long as alone, and each makes at most 9 requests', async () => {
  const alone = await answered('5 alone')
  const failing: Asked[] = []
  for (let job = 0; job < 6; job++) failing.push(await icl.ask(`1 fail ${job}`))
  const beside = await answered('5 beside')
  expect([alone.status, beside.status]).toEqual(['accepted', 'accepted'])
  expect(beside.ms).toBeLessThanOrEqual(2 * alone.ms)
  await icl.clock.advance(60_000)
  for (const job of failing) expect(await statusOf(job)).toBe('expired')
  const counts = [...requests].flatMap(([asked, count]) => (asked.includes('fail') ? [count] : []))
  expect([counts.length, Math.max(...counts)]).toEqual([18, 3])
})
