import { describe, expect, it, vi } from 'vitest'
import { statementHash } from '../../../lib/statements.ts'
import { checkCommitmentOf, contradictionIn } from '../../../lib/teacher.ts'
import type { InferenceProvider } from '../../../node/inference/provider.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import { jobId, modelId, nodeAddress } from '../fakes.ts'
import { createJobWorld } from '../job-world.ts'

const told = [0, 0, 1].map((short) => ({
  logprob: -0.1 - short,
  top: [{ token: 'Four', logprob: -0.1 }],
}))

/** A checker of a job whose terms ask for numbers, with a model that tells them. */
async function withModel(
  weigh?: InferenceProvider['weigh'],
  check: 'teacher/1' | null = 'teacher/1',
) {
  const world = await createJobWorld('verifier')
  const to_check = await world.delivered('Four.', 'Four.')
  const deadline = world.view.server_time + 60
  world.turns.push({ step: 'check', to_check, deadline }, { step: 'open', deadline })
  if (check) Object.assign(world.claim, { check })
  const offered = world.deps.models.get(modelId)!
  const provider = { ...offered.provider, ...(weigh && { weigh }) }
  const models = new Map([[modelId, { ...offered, provider }]])
  const steps = { onClaimed: () => {}, onSlotFree: () => {} }
  const { signal } = new AbortController()
  const run = () =>
    world.clock.until(runJob({ ...world.deps, models }, world.assignment, signal, steps))
  const verdict = () => world.api.postVerdict.mock.calls[0]![0].body
  const opened = () => world.api.openCheck.mock.calls.map(([{ body }]) => body)
  return { world, to_check, run, verdict, opened }
}

describe('a checker whose job asks for numbers', () => {
  it('gives its model the prompt and the delivered text, commits in its verdict, and opens that', async () => {
    const took = { input_tokens: 20, output_tokens: 1 }
    const weigh = vi.fn<NonNullable<InferenceProvider['weigh']>>(async ({ onUsage }) => {
      onUsage?.(took)
      return told
    })
    const { world, to_check, run, verdict, opened } = await withModel(weigh)
    await run()
    expect(weigh).toHaveBeenCalledWith(
      expect.objectContaining({ model: 'test-model', text: 'Four.', prompt: expect.anything() }),
    )
    const [{ score, salt } = { score: undefined, salt: '' }] = opened()
    expect(score).toMatchObject({ n: 3, agree: 2, gap: 1_000, far: 0 })
    expect(
      contradictionIn(score!, await statementHash(to_check.answer.body), 1_024),
    ).toBeUndefined()
    const delivery = await statementHash(to_check.delivery.body)
    const parts = { jobId, address: nodeAddress, fence: 1, delivery, score: score!, salt }
    expect(verdict()).toMatchObject({ verdict: 'match', check: await checkCommitmentOf(parts) })
    expect(opened()).toHaveLength(1)
    expect(world.history.records.flatMap(({ usage }) => usage ?? [])).toEqual([took])
  })

  it('says what it found without numbers when its model tells none, or none are asked for', async () => {
    const failing = vi.fn(async () => Promise.reject(new Error('away')))
    for (const [weigh, check] of [
      [undefined, 'teacher/1'],
      [failing, 'teacher/1'],
      [async () => told, null],
    ] as const) {
      const { world, run, verdict } = await withModel(weigh, check)
      world.turns.pop()
      await run()
      expect(verdict()).toMatchObject({ verdict: 'match' })
      expect(verdict()).not.toHaveProperty('check')
    }
    expect(failing).toHaveBeenCalledTimes(1)
  })

  it('leaves the numbers out that it lost, and goes on', async () => {
    const { world, run, opened } = await withModel()
    await run()
    expect(opened()).toEqual([])
    expect(world.history.records.at(-1)).toMatchObject({ outcome: 'match' })
  })
})
