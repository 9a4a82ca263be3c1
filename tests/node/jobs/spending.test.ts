import { describe, expect, it, vi } from 'vitest'
import { ProblemError } from '../../../lib/problem.ts'
import { promptOfText } from '../../../lib/prompt.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import type { InferenceProvider } from '../../../node/inference/provider.ts'
import { ProviderError } from '../../../node/inference/provider-call.ts'
import { mostQuestions } from '../../../node/jobs/note-asked.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import { jobId, modelId } from '../fakes.ts'
import { createJobWorld, type JobWorld } from '../job-world.ts'

/*
 * What an ICL can make a node spend at its provider: it says how often a job comes back, how long its prompt and its answer are.
 */

const steps = { onClaimed: () => {}, onSlotFree: () => {} }
const { signal } = new AbortController()

const run = ({ deps, assignment, clock }: JobWorld) =>
  clock.until(runJob(deps, assignment, signal, steps))

/** Runs the job under another fence, as an ICL has it that offers it anew. */
const runUnder = async (world: JobWorld, fence: number) => {
  const { deps, claim, assignment, clock, api } = world
  api.claimAssignment.mockResolvedValue({ ...claim, fence })
  await clock.until(runJob(deps, { ...assignment, fence }, signal, steps))
}

const abortsOf = (world: JobWorld) =>
  world.api.abortAssignment.mock.calls.map(([{ body }]) => body.reason)

describe('a node', () => {
  it('asks its provider only so often for one job, whatever fences come', async () => {
    const world = await createJobWorld('leader')
    world.complete.mockRejectedValue(new SvcError('provider-refused', 'no', { hint: 'Ask less.' }))
    for (let fence = 1; fence <= mostQuestions; fence++) await runUnder(world, fence)
    expect(abortsOf(world)).toEqual(Array(mostQuestions).fill('provider-refused'))
    await runUnder(world, 900)
    expect(world.complete).toHaveBeenCalledTimes(mostQuestions)
    expect(abortsOf(world).at(-1)).toBe('node-failed')
    expect(world.log.lines.at(-1)).toMatch(
      /^ERROR Job .*asked 12 times for it.*If it stays, do not work for this ICL/,
    )
  })

  it.each([
    [3_600_000, 3_600],
    [1_500, 2],
    [1e12, 86_400],
    [undefined, undefined],
  ])('that its provider asks to wait %s ms gives the job back with %s s', async (ms, seconds) => {
    const world = await createJobWorld('leader')
    const code = 'provider-rate-limited'
    const error = new ProviderError(code, 'no', { hint: 'Ask less.', askedWaitMs: ms })
    world.complete.mockRejectedValue(error)
    await run(world)
    const [{ body }] = world.api.abortAssignment.mock.calls[0]!
    expect([body.reason, body.retry_after]).toEqual([code, seconds])
  })

  it('gives its verdict without numbers once it was asked as often as that', async () => {
    const world = await createJobWorld('verifier')
    const to_check = await world.delivered('Four.', 'Four.')
    world.turns.push({ step: 'check', to_check })
    Object.assign(world.claim, { check: 'teacher/1' })
    const weigh = vi.fn<NonNullable<InferenceProvider['weigh']>>(async () => [])
    const provider = { ...world.deps.models.get(modelId)!.provider, weigh }
    world.deps = { ...world.deps, models: new Map([[modelId, { provider, model: 'm' }]]) }
    for (let before = 1; before < mostQuestions; before++) {
      world.journal.note({ step: 'asked', jobId, fence: 900 })
    }
    await run(world)
    expect(world.complete).toHaveBeenCalledTimes(1)
    expect(weigh).not.toHaveBeenCalled()
    expect(world.api.postVerdict.mock.calls[0]![0].body).toMatchObject({ verdict: 'match' })
  })

  it('does not ask its provider for a job that ended while its prompt was fetched, but does while the ICL is away', async () => {
    for (const [ask, count] of [
      [async (world: JobWorld) => ({ ...world.view, step: 'over' as const }), 0],
      [async (world: JobWorld) => world.view, 1],
      [() => Promise.reject(new ProblemError('unavailable', 'away')), 1],
    ] as const) {
      const world = await createJobWorld('leader')
      vi.spyOn(world.blobs, 'download').mockRejectedValueOnce(
        new SvcError('blob-unavailable', 'answered 404', { hint: 'Wait.', retryable: true }),
      )
      world.api.getAssignment.mockImplementationOnce(() => ask(world))
      await run(world)
      expect(world.complete).toHaveBeenCalledTimes(count)
      expect(abortsOf(world)).toEqual([])
    }
  })

  it('asks for no longer prompt or answer than its operator offers', async () => {
    const takes = { parts: [], max_prompt_bytes: 10_000, max_output_tokens: 2_000 }
    for (const [words, tokens, why] of [
      [5_000, 1_024, 'a prompt of 16384 bytes'],
      [1, 2_001, 'an answer of 2001 tokens'],
      [1, 2_000, undefined],
    ] as const) {
      const document = promptOfText('w '.repeat(words))
      const world = await createJobWorld('leader', 'Four.', { document })
      const offered = world.deps.models.get(modelId)!
      world.deps = { ...world.deps, models: new Map([[modelId, { ...offered, takes }]]) }
      Object.assign(world.claim, { parameters: { max_output_tokens: tokens } })
      await run(world)
      expect(abortsOf(world)).toEqual(why ? ['prompt-not-supported'] : [])
      expect(world.complete).toHaveBeenCalledTimes(why ? 0 : 1)
      expect(world.log.lines.join('\n')).toContain(why ?? 'Leader result accepted')
    }
  })
})
