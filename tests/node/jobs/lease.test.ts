import { describe, expect, it } from 'vitest'
import { SvcError } from '../../../lib/svc-error.ts'
import { createOpenAi } from '../../../node/inference/openai.ts'
import { longestJobMs } from '../../../node/jobs/job-time.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import { modelId } from '../fakes.ts'
import { createJobWorld, type JobWorld } from '../job-world.ts'

const steps = { onClaimed: () => {}, onSlotFree: () => {} }
const never = new AbortController().signal
const answered = (status: number, body: unknown) => Response.json(body, { status })
const four = { choices: [{ message: { content: 'Four.' } }] }
const away = new SvcError('icl-unreachable', 'gone', { hint: '', retryable: true })

/** A node whose provider is called as in production. */
async function nodeWith(provide: (world: JobWorld, signal: AbortSignal) => Promise<Response>) {
  const world = await createJobWorld('leader')
  const provider = createOpenAi({
    name: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    keyVariable: 'OPENAI_API_KEY',
    apiKey: 'sk-test',
    clock: world.clock,
    log: world.log,
    fetch: ({ signal }) => provide(world, signal),
  })
  const models = new Map([[modelId, { provider, model: 'test-model' }]])
  const startedAt = world.clock.monotonic()
  return { ...world, deps: { ...world.deps, models }, startedAt }
}

const reasons = ({ api }: Pick<JobWorld, 'api'>) =>
  api.abortAssignment.mock.calls.map(([{ body }]) => body.reason)

describe('a provider call that lasts longer than the lease of the claim', () => {
  // Seconds from the claim, whose lease is 120 s.
  for (const [from, to] of [
    [20, 70],
    [100, 150],
    [116, 166],
  ] as const) {
    it(`is not given up when the ICL was away from ${from} s to ${to} s and adds them`, async () => {
      const world = await nodeWith(async ({ clock }, signal) => {
        await clock.sleep(160_000, signal)
        return answered(200, four)
      })
      const begun = world.clock.now()
      world.api.getAssignment.mockImplementation(async () => {
        if (world.look().step !== 'work') return world.look()
        const passed = Math.floor((world.clock.now() - begun) / 1000)
        if (passed >= from && passed < to) throw away
        const { view } = world
        const deadline = view.server_time + 120 + (passed < to ? 0 : to - from)
        return { ...view, status: 'claimed', server_time: view.server_time + passed, deadline }
      })
      await world.clock.until(runJob(world.deps, world.assignment, never, steps))
      expect(reasons(world)).toEqual([])
      expect(world.api.postResult).toHaveBeenCalledTimes(1)
    })
  }

  it('ends with the lease when nothing is added, and names the provider', async () => {
    const world = await nodeWith(() => new Promise<never>(() => {}))
    const begun = world.clock.now()
    world.api.getAssignment.mockImplementation(async () => {
      const passed = Math.floor((world.clock.now() - begun) / 1000)
      const { view } = world
      const [server_time, deadline] = [view.server_time + passed, view.server_time + 120]
      return { ...view, status: 'claimed', server_time, deadline }
    })
    await world.clock.until(runJob(world.deps, world.assignment, never, steps))
    expect(reasons(world)).toEqual(['provider-silent'])
    expect(Math.round((world.clock.now() - begun) / 1000)).toBe(118)
  })

  for (const [when, aheadSeconds] of [
    ['each time that it is asked', 120],
    ['in years', 90_000_000_000],
  ] as const) {
    it(`ends with the longest time of a job, though the ICL says that the lease ends later: ${when}`, async () => {
      const world = await nodeWith(() => new Promise<never>(() => {}))
      const begun = world.clock.now()
      const { claim, view } = world
      Object.assign(claim, { claimDeadline: claim.server_time + aheadSeconds })
      world.api.getAssignment.mockImplementation(async () => ({
        ...view,
        status: 'claimed',
        deadline: view.server_time + aheadSeconds,
      }))
      await world.clock.until(runJob(world.deps, world.assignment, never, steps))
      expect(world.api.abortAssignment).toHaveBeenCalledTimes(1)
      expect(world.clock.now() - begun).toBe(longestJobMs)
      expect(world.api.getAssignment.mock.calls.length).toBeLessThan(20)
    })
  }
})

describe('an answer that comes as a stream', () => {
  const part = (content: string, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason }] })}\n\n`
  const streamed = (
    { clock }: JobWorld,
    signal: AbortSignal,
    parts: readonly (readonly [seconds: number, text: string])[],
  ) => {
    const left = [...parts]
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      const [seconds = 0, text = ''] = left.shift() ?? []
      await clock.sleep(seconds * 1000, signal)
      controller.enqueue(new TextEncoder().encode(text))
      if (left.length === 0) controller.close()
    }
    return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }))
  }
  const reasonsOver = async (parts: readonly (readonly [seconds: number, text: string])[]) => {
    const world = await nodeWith(async (world, signal) => streamed(world, signal, parts))
    Object.assign(world.claim, { claimDeadline: world.claim.server_time + 300 })
    const begun = world.clock.now()
    await world.clock.until(runJob(world.deps, world.assignment, never, steps))
    return [reasons(world), Math.round((world.clock.now() - begun) / 1000)]
  }

  it('may take as long as the lease, while anything comes', async () => {
    const slow = [
      [100, part('Fo')],
      [50, ': \n\n'],
      [50, part('ur.', 'stop')],
    ] as const
    expect(await reasonsOver(slow)).toEqual([[], 200])
  })

  it('is given back after a minute of silence', async () => {
    const stalled = [
      [10, part('Fo')],
      [200, part('ur.', 'stop')],
    ] as const
    expect(await reasonsOver(stalled)).toEqual([['provider-silent'], 70])
  })
})

describe('a job that the ICL does not end', () => {
  it('is given back after the longest time of a job, its work before the commitment counted', async () => {
    const world = await nodeWith(async ({ clock }, signal) => {
      await clock.sleep(60_000, signal)
      return answered(200, four)
    })
    const begun = world.clock.now()
    world.api.getAssignment.mockImplementation(async () => ({ ...world.look(), step: 'wait' }))
    world.api.commitAssignment.mockRejectedValue(away)
    await world.clock.until(runJob(world.deps, world.assignment, never, steps))
    expect(reasons(world)).toEqual(['node-failed'])
    expect(world.clock.now() - begun).toBe(longestJobMs)
  })
})

describe("a provider call over which the machine's clock is set", () => {
  const hour = 3_600_000

  it('ahead still lasts for the rest of the lease', async () => {
    const world = await nodeWith(async ({ clock }, signal) => {
      clock.leap(hour)
      await clock.sleep(60_000, signal)
      return answered(200, four)
    })
    await world.clock.until(runJob(world.deps, world.assignment, never, steps))
    expect(reasons(world)).toEqual([])
  })

  it('back still ends before the lease, and names the provider', async () => {
    const world = await nodeWith(({ clock }) => {
      clock.leap(-hour)
      return new Promise<never>(() => {})
    })
    world.api.getAssignment.mockResolvedValue(world.view)
    await world.clock.until(runJob(world.deps, world.assignment, never, steps))
    expect(reasons(world)).toEqual(['provider-silent'])
  })
})
