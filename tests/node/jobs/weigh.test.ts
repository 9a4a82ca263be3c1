import { describe, expect, it, vi } from 'vitest'
import { cidOf } from '../../../lib/cid.ts'
import type { Hash32 } from '../../../lib/codecs.ts'
import { openShown, sealShown } from '../../../lib/sealing/shown.ts'
import { statementHash } from '../../../lib/statements.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { wrongNumbers } from '../../../lib/weighing.ts'
import type { InferenceProvider } from '../../../node/inference/provider.ts'
import type { Own } from '../../../node/jobs/own.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import { showAnswer } from '../../../node/jobs/weigh.ts'
import { jobId, modelId } from '../fakes.ts'
import { createJobWorld, type Turn } from '../job-world.ts'

type Weigh = NonNullable<InferenceProvider['weigh']>

const told = [0, 0, 1].map((short) => ({
  logprob: -0.1 - short,
  top: ['Four', 'Five', 'Six', 'A', 'The'].map((token, at) => ({ token, logprob: -0.1 - 2 * at })),
}))

/** A node of a job whose answers are weighed, with the answer `Four.` of another node, which shows the text `shown`. */
async function weighing({ weigh, shown = 'Four.' }: { weigh?: Weigh; shown?: string } = {}) {
  const world = await createJobWorld('verifier')
  const { answer } = await world.delivered('Four.')
  Object.assign(world.claim, { check: 'teacher/1' })
  const of = { jobId, fence: answer.body.fence, secret: world.secret }
  const cid = await world.blobs.put(await sealShown(shown, of, world.deps.random))
  const deadline = world.view.server_time + 60
  const to_weigh = [{ answer, cid }]
  const turns = [{ step: 'show' }, { step: 'weigh', to_weigh }, { step: 'open' }] as const
  world.turns.push(...turns.map((turn) => ({ ...turn, deadline })))
  const offered = world.deps.models.get(modelId)!
  const provider = { ...offered.provider, ...(weigh && { weigh }) }
  const models = new Map([[modelId, { ...offered, provider }]])
  const steps = { onClaimed: () => {}, onSlotFree: () => {} }
  const { signal } = new AbortController()
  const run = () =>
    world.clock.until(runJob({ ...world.deps, models }, world.assignment, signal, steps))
  const committed = () => world.api.weighAnswers.mock.calls.map(([{ body }]) => body.commitment)
  const opened = () => world.api.openNumbers.mock.calls.map(([{ body }]) => body)
  return { world, hash: (await statementHash(answer.body)) as Hash32, run, committed, opened }
}

describe('a node of a job whose answers are weighed', () => {
  it('shows nothing before it has revealed its answer', async () => {
    const { world } = await weighing()
    const { deps, claim } = world
    const own = { committed: { sealed: 'AAAA' } } as Own
    const part = { deps, claim, own, signal: new AbortController().signal }
    await expect(showAnswer(part)).rejects.toThrow(/not revealed/)
    expect(world.api.putBlob).not.toHaveBeenCalled()
  })

  it('shows its own answer under the secret of the job', async () => {
    const { world, run } = await weighing()
    await run()
    const [{ body: blob }] = world.api.putBlob.mock.calls[0]!
    expect(world.api.showAnswer.mock.calls[0]![0].body.cid).toBe(await cidOf(blob))
    const of = { jobId, fence: 1, secret: world.secret }
    expect(await openShown(blob, of)).toBe('Four.')
  })

  it('tries again until its answer is shown', async () => {
    const { world, run } = await weighing()
    const full = new SvcError('icl-unavailable', 'no room', { hint: 'Wait.', retryable: false })
    world.api.putBlob.mockRejectedValueOnce(full)
    await run()
    expect(world.api.showAnswer.mock.calls.at(-1)![0].body.cid).toBeDefined()
  })

  it('gives its model the prompt and the other text, commits to its numbers, and opens them', async () => {
    const took = { input_tokens: 20, output_tokens: 1 }
    const weigh = vi.fn<Weigh>(async ({ onUsage }) => {
      onUsage?.(took)
      return told
    })
    const { world, hash, run, committed, opened } = await weighing({ weigh })
    await run()
    expect(weigh).toHaveBeenCalledWith(
      expect.objectContaining({ model: 'test-model', text: 'Four.', prompt: expect.anything() }),
    )
    const [numbers] = opened()
    expect(committed()).toEqual([await statementHash(numbers!)])
    expect(numbers?.weighed).toMatchObject([
      { answer: hash, score: { n: 3, agree: 2, gap: 1_000 } },
    ])
    expect(wrongNumbers(numbers!, [hash], 1_024)).toBeUndefined()
    expect(world.history.records.flatMap(({ usage }) => usage ?? [])).toEqual([took])
  })

  it('asks no model about a text that is not the answer, and says so', async () => {
    const weigh = vi.fn<Weigh>(async () => told)
    const { hash, run, opened } = await weighing({ weigh, shown: 'Five.' })
    await run()
    expect(opened()[0]?.weighed).toEqual([{ answer: hash }])
    expect(weigh).not.toHaveBeenCalled()
  })

  it('checks a delivery while its model reads', async () => {
    const order: string[] = []
    const weigh: Weigh = async ({ signal }) => {
      await world.clock.sleep(20_000, signal)
      order.push('read')
      return told
    }
    const { world, run, opened } = await weighing({ weigh })
    const to_check = await world.delivered('Four.', 'Four.')
    const [, weighs, open] = world.turns.splice(0) as [Turn, Turn, Turn]
    world.turns.push(weighs, open)
    world.api.getAssignment.mockImplementation(async () => {
      if (world.api.postVerdict.mock.calls.length === 0 && world.clock.now() > startedAt + 5_000) {
        return { ...world.look(), step: 'check', to_check }
      }
      return world.look()
    })
    world.api.postVerdict.mockImplementation(async ({ body }) => {
      order.push('verdict')
      return { jobId: body.jobId, status: 'revealed', phase: 'running' }
    })
    const startedAt = world.clock.now()
    await run()
    expect(order).toEqual(['verdict', 'read'])
    expect(opened()).toHaveLength(1)
  })

  it('does not pay for a text that is longer than its tokens can be', async () => {
    const weigh = vi.fn<Weigh>(async () => told)
    const { world, run, committed } = await weighing({ weigh })
    Object.assign(world.claim, { parameters: { max_output_tokens: 0.05 } })
    await run()
    expect(committed()).toEqual([undefined])
    expect(weigh).not.toHaveBeenCalled()
  })

  it('commits to nothing when its model tells no numbers', async () => {
    const failing = vi.fn<Weigh>(async () => Promise.reject(new Error('away')))
    for (const weigh of [undefined, failing]) {
      const { run, committed, opened } = await weighing(weigh && { weigh })
      await run()
      expect(committed()).toEqual([undefined])
      expect(opened()).toEqual([])
    }
    expect(failing).toHaveBeenCalledTimes(1)
  })
})
