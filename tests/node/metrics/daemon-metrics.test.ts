import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ProblemError } from '../../../lib/problem.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { runDaemon } from '../../../node/daemon.ts'
import { createNodeMetrics } from '../../../node/metrics/metrics.ts'
import { withMetrics } from '../../../node/metrics/with-metrics.ts'
import { createDaemonWorld, type DaemonWorld } from '../daemon-world.ts'
import { nodeAddress } from '../fakes.ts'

const figures = {
  startedAt: 1_000,
  memoryBytes: () => 90_000_000,
  processorSeconds: () => 2.5,
  openFiles: () => undefined,
  openFilesLimit: () => undefined,
}

const record = {
  operator_address: nodeAddress,
  model_tiers: [0],
  active: true,
  metrics: {
    tasks_completed: 9,
    tasks_accepted: 7,
    tasks_rejected: 2,
    reputation_score: 640,
    total_slash_amount: 5,
    last_heartbeat: 0,
  },
}

let world: DaemonWorld
let metrics: ReturnType<typeof createNodeMetrics>
let running: Promise<void>
/** Undefined while the ICL does not say. */
let known: typeof record | undefined

beforeEach(async () => {
  world = await createDaemonWorld({ jobs: 3 })
  const labels = { version: '1.2.3', address: nodeAddress }
  metrics = createNodeMetrics({ clock: world.clock, figures, labels })
  known = record
  const measured = withMetrics(world.deps, metrics, async () => {
    if (known) return known
    throw new Error('away')
  })
  running = runDaemon(measured, world.stop.signal)
  await world.clock.advance(0)
})
afterEach(async () => {
  world.stop.abort()
  await world.clock.until(running)
})

/** The value of each sample, by its name with its labels. */
const samples = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    [...(await metrics.text()).matchAll(/^(\w+(?:\{.*\})?) (\S+)$/gm)].map(([, name, value]) => [
      name,
      Number(value),
    ]),
  )

describe('the metrics of a daemon', () => {
  it('tell the age of the last heartbeat that the ICL took, also when the clock of the machine is set', async () => {
    expect(await samples()).toMatchObject({
      svc_node_heartbeat_age_seconds: 0,
      svc_node_eligible: 1,
    })
    await world.clock.advance(50_000)
    world.clock.leap(3_600_000)
    expect((await samples()).svc_node_heartbeat_age_seconds).toBe(50)
    world.api.postHeartbeat.mockRejectedValue(new Error('no route'))
    await world.clock.advance(130_000)
    expect((await samples()).svc_node_heartbeat_age_seconds).toBe(180)
  })

  it('tell the certificate, the slots, what the wallet can pay, version and process', async () => {
    world.chain.state.paidFor = 12
    await world.clock.advance(60_000)
    expect(await samples()).toMatchObject({
      [`svc_node_info{version="1.2.3",address="${nodeAddress}"}`]: 1,
      svc_node_certificate_left_seconds: 86_400 - 60,
      'svc_node_slots{state="free"}': 3,
      'svc_node_slots{state="used"}': 0,
      svc_node_answers_paid_for: 12,
      process_resident_memory_bytes: 90_000_000,
    })
    world.chain.state.paidFor = 0
    await world.clock.advance(60_000)
    expect((await samples())['svc_node_slots{state="free"}']).toBe(0)
  })

  it('count jobs by their end and cause, calls and tokens, and name neither job nor prompt', async () => {
    world.complete.mockImplementation(async ({ onUsage }) => {
      await world.clock.sleep(40_000)
      onUsage?.({ input_tokens: 11, output_tokens: 2 })
      return 'Four.'
    })
    world.offer(1)
    await world.clock.advance(31_000)
    expect((await samples())['svc_node_slots{state="used"}']).toBe(1)
    await world.clock.advance(60_000)
    world.complete.mockRejectedValue(new SvcError('provider-refused', 'no', { hint: '' }))
    world.offer(2)
    await world.clock.advance(60_000)
    expect(await samples()).toMatchObject({
      'svc_node_jobs_total{end="result-posted",cause=""}': 1,
      'svc_node_jobs_total{end="aborted",cause="provider-refused"}': 1,
      'svc_node_tokens_total{model="openai:test-model",kind="input"}': 11,
      'svc_node_provider_call_seconds_count{provider="openai",end="ok"}': 1,
      'svc_node_provider_call_seconds_sum{provider="openai",end="ok"}': 40,
      'svc_node_provider_call_seconds_count{provider="openai",end="provider-refused"}': 1,
      svc_node_jobs_running: 0,
    })
    const text = await metrics.text()
    for (const secret of [world.prompt, 'Four.', '1'.repeat(64)]) expect(text).not.toContain(secret)
  })

  it('tell apart calls that ended because the job was over from those that failed', async () => {
    world.complete.mockRejectedValue(new ProblemError('stale-fence', 'Another node has it'))
    world.offer(1)
    await world.clock.advance(60_000)
    expect(await samples()).toMatchObject({
      'svc_node_provider_call_seconds_count{provider="openai",end="gone"}': 1,
      'svc_node_jobs_total{end="given-up",cause=""}': 1,
    })
  })

  it('tell no certificate until the daemon runs, so that a start that waits for the ICL raises no alarm of it', async () => {
    const waiting = { clock: world.clock, figures, labels: { version: '1', address: nodeAddress } }
    expect(await createNodeMetrics(waiting).text()).not.toMatch(/^svc_node_certificate_left/m)
  })

  it('tell the record that the ICL has, and nothing when it does not say', async () => {
    expect(await samples()).toMatchObject({
      svc_node_reputation_score: 640,
      svc_node_slashed_gwei: 5,
      'svc_node_results{end="accepted"}': 7,
      'svc_node_results{end="rejected"}': 2,
    })
    known = undefined
    await world.clock.advance(60_000)
    expect(await samples()).not.toHaveProperty('svc_node_reputation_score')
    expect(await samples()).not.toHaveProperty('svc_node_results{end="accepted"}')
  })
})
