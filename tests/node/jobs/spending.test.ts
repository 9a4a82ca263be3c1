import { describe, expect, it, vi } from 'vitest'
import { ProblemError } from '../../../lib/problem.ts'
import { promptOfText } from '../../../lib/prompt.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import type { InferenceProvider } from '../../../node/inference/provider.ts'
import { ProviderError } from '../../../node/inference/provider-call.ts'
import { createBudget, mostRequests } from '../../../node/jobs/budget.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import { aJobId } from '../../branded.ts'
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
  it('makes three requests for one job, then gives it back with its last cause before it claims it', async () => {
    const world = await createJobWorld('leader')
    const decrypt = vi.spyOn(world.coprocessor, 'decrypt')
    world.complete.mockImplementation(async ({ mayCall }) => {
      if (mayCall?.()) throw new SvcError('provider-unavailable', 'no', { hint: 'Wait.' })
      throw new TypeError('asked without a request left')
    })
    for (let fence = 1; fence <= mostRequests; fence++) await runUnder(world, fence)
    decrypt.mockClear()
    world.api.claimAssignment.mockClear()
    await runUnder(world, 900)
    expect(world.complete).toHaveBeenCalledTimes(3)
    expect(decrypt).not.toHaveBeenCalled()
    expect(world.api.claimAssignment).not.toHaveBeenCalled()
    expect(abortsOf(world)).toEqual(Array(4).fill('provider-unavailable'))
    // Another run of the daemon has the journal alone.
    world.deps = { ...world.deps, budget: createBudget(world.journal) }
    await runUnder(world, 901)
    expect(world.complete).toHaveBeenCalledTimes(3)
    expect(abortsOf(world).at(-1)).toBe('node-failed')
    expect(world.log.lines.join('\n')).toMatch(/ERROR Job .*asked 3 times for this job/)
  })

  it('counts the requests of one assignment, and those of a job that it forgot by its journal', async () => {
    const world = await createJobWorld('leader')
    const begun = world.deps.budget.begin({ jobId, fence: 1 })
    expect([begun(), begun(), begun(), begun()]).toEqual([true, true, true, false])
    expect(() => world.deps.budget.begin({ jobId, fence: 2 })).toThrow(/3 times/)
    for (let other = 0; other < 1_000; other++) {
      const id = aJobId(`0x${other.toString(16).padStart(64, '0')}`)
      world.deps.budget.begin({ jobId: id, fence: 1 })()
    }
    const again = world.deps.budget.begin({ jobId, fence: 2 })
    expect([again(), again(), again()]).toEqual([true, true, false])
  })

  it('counts the requests of assignments that run at once together', async () => {
    const { deps } = await createJobWorld('leader')
    const [one, other] = [1, 2].map((fence) => deps.budget.begin({ jobId, fence }))
    expect([one!(), other!(), one!(), other!(), one!()]).toEqual([true, true, true, false, false])
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
    for (let before = 1; before < mostRequests; before++) {
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
