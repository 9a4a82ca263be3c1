import { describe, expect, it, vi } from 'vitest'
import { comparators } from '../../../lib/comparators/all.ts'
import { evidenceKeyOf } from '../../../lib/sealing/job-secret.ts'
import { resumeJob } from '../../../node/jobs/resume-job.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import type { JournalEntry } from '../../../node/journal/steps.ts'
import { breadAnswer, liftAnswer } from '../../lib/comparators/texts.ts'
import { jobId } from '../fakes.ts'
import { createJobWorld, type JobWorld } from '../job-world.ts'

const steps = { onClaimed: () => {}, onSlotFree: () => {} }
const never = new AbortController().signal

const run = (world: JobWorld) =>
  world.clock.until(runJob(world.deps, world.assignment, never, steps))

/** A node with an answer of its own, and another that answered `text` and delivered `shown`. */
async function withDelivery(
  by: Parameters<typeof createJobWorld>[2],
  own: string,
  text: string,
  shown = text,
  secondsLeft = 60,
) {
  const world = await createJobWorld('verifier', own, by)
  const to_check = await world.delivered(text, shown)
  world.turns.push({
    ...{ step: 'check', to_check },
    deadline: world.view.server_time + secondsLeft,
  })
  return { world, to_check, answer: to_check.answer.body, delivery: to_check.delivery.body }
}

/** What the journal holds of a node that is killed after it has committed. */
async function killedAfterCommitting(world: JobWorld): Promise<JournalEntry> {
  const killed = Promise.withResolvers<void>()
  const asked = world.api.getAssignment.getMockImplementation()!
  world.api.getAssignment.mockImplementation(async () => {
    killed.resolve()
    return await new Promise<never>(() => {})
  })
  void runJob(world.deps, world.assignment, never, steps)
  await world.clock.until(killed.promise)
  world.api.getAssignment.mockImplementation(asked)
  const entry = world.journal.entry()
  if (!entry) throw new Error('the node did not commit')
  return entry
}

const verdictOf = (world: JobWorld) => world.api.postVerdict.mock.calls[0]?.[0].body

const similarBy = { comparator: 'similar/2' } as const
const inOtherWords = liftAnswer.replace('does not need any motor', 'does not need a motor at all')

describe('a job by similar/2', () => {
  it('has the nodes show what their answers look like', async () => {
    const world = await createJobWorld('leader', liftAnswer, similarBy)
    await run(world)
    expect(world.api.revealAnswer.mock.calls[0]?.[0].body.evidence).toEqual(
      await comparators['similar/2'].evidenceOf({
        text: liftAnswer,
        prompt: world.prompt,
        key: await evidenceKeyOf(world.secret, jobId),
      }),
    )
  })

  it.each([
    ['a match of the same wording', inOtherWords, { verdict: 'match' }],
    [
      'unrelated answers no match',
      breadAnswer,
      { verdict: 'no-match', reason: 'different-answer' },
    ],
    [
      'another number inconclusive',
      liftAnswer.replace('48', '84'),
      { verdict: 'no-match', reason: 'inconclusive' },
    ],
  ])('calls %s', async (_, answer, verdict) => {
    const { world } = await withDelivery(similarBy, liftAnswer, answer)
    await run(world)
    expect(verdictOf(world)).toMatchObject(verdict)
  })

  it('needs the very text that the deliverer made its evidence of', async () => {
    const { world } = await withDelivery(similarBy, liftAnswer, liftAnswer, inOtherWords)
    await run(world)
    expect(verdictOf(world)).toMatchObject({ verdict: 'no-match', reason: 'output-mismatch' })
  })

  it('continues after a restart: the prompt is fetched and decrypted again, and was nowhere on disk', async () => {
    const { world } = await withDelivery(similarBy, liftAnswer, inOtherWords)
    const entry = await killedAfterCommitting(world)
    const written = JSON.stringify(entry, (_, value: unknown) =>
      typeof value === 'bigint' ? value.toString() : value,
    )
    for (const secret of [world.prompt, liftAnswer]) expect(written).not.toContain(secret)
    const download = vi.fn(world.blobs.download)
    const deps = { ...world.deps, blobs: { download } }
    await world.clock.until(resumeJob(deps, entry, never, steps))
    expect(download.mock.calls.map(([cid]) => cid)).toContain(world.claim.prompt_cid)
    expect(verdictOf(world)).toMatchObject({ verdict: 'match' })
    expect(world.complete).toHaveBeenCalledTimes(1)
  })
})

describe('a checker that comes late', () => {
  for (const secondsLeft of [1, 5, 9]) {
    it(`blames no deliverer with ${secondsLeft} s left, although it cannot open the output`, async () => {
      const { world, delivery } = await withDelivery({}, 'Four.', 'Four.', 'Four.', secondsLeft)
      world.coprocessor.granted.delete(delivery.outHighHandle)
      await run(world)
      expect(verdictOf(world)).toBeUndefined()
      expect(world.api.abortTurn.mock.calls[0]?.[0].body.reason).toBe('deadline-too-close')
    })
  }

  it('counts only the time that the output itself had', async () => {
    const { world, delivery } = await withDelivery({}, 'Four.', 'Four.', 'Four.', 40)
    const entry = await killedAfterCommitting(world)
    // After a restart the prompt key comes first, and takes most of the 30 s that there are.
    const decrypt: JobWorld['deps']['coprocessor']['decrypt'] = async (handle) => {
      if (handle === world.claim.kpHighHandle) await world.clock.sleep(25_000)
      return await world.coprocessor.decrypt(handle)
    }
    world.coprocessor.granted.delete(delivery.outHighHandle)
    const deps = { ...world.deps, coprocessor: { ...world.coprocessor, decrypt } }
    await world.clock.until(resumeJob(deps, entry, never, steps))
    expect(verdictOf(world)).toBeUndefined()
    expect(world.api.abortTurn.mock.calls[0]?.[0].body.reason).toBe('deadline-too-close')
  })
})
