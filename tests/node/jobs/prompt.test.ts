import { describe, expect, it } from 'vitest'
import { comparators } from '../../../lib/comparators/all.ts'
import { promptText } from '../../../lib/prompt.ts'
import { evidenceKeyOf } from '../../../lib/sealing/job-secret.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import { samplePrompt } from '../../sample-prompt.ts'
import { jobId } from '../fakes.ts'
import { createJobWorld, type JobWorld } from '../job-world.ts'

const steps = { onClaimed: () => {}, onSlotFree: () => {} }
const run = (world: JobWorld) =>
  world.clock.until(runJob(world.deps, world.assignment, new AbortController().signal, steps))
const abortsOf = (world: JobWorld) =>
  world.api.abortAssignment.mock.calls.map(([{ body }]) => body.reason)

describe('a sealed prompt at a node', () => {
  it('reaches the provider with every part', async () => {
    const world = await createJobWorld('leader', 'Four.', { document: samplePrompt })
    await run(world)
    expect(world.complete.mock.calls.map(([{ prompt }]) => prompt)).toEqual([samplePrompt])
    expect(world.complete.mock.calls[0]![0].maxOutputTokens).toBe(1_024)
  })

  it('is for evidence what its messages say', async () => {
    // Words of an earlier message, which count for nothing.
    const text = 'When does the ferry leave? At nine, I should think.'
    const by = { comparator: 'similar/2', document: samplePrompt } as const
    const world = await createJobWorld('leader', text, by)
    await run(world)
    const key = await evidenceKeyOf(world.secret, jobId)
    const evidenceOf = (prompt: string) =>
      comparators['similar/2'].evidenceOf({ text, prompt, key })
    const { evidence } = world.api.revealAnswer.mock.calls[0]![0].body
    expect(evidence).toEqual(await evidenceOf(promptText(samplePrompt)))
    expect(evidence).not.toEqual(await evidenceOf('And in short?'))
  })

  it.each<readonly [string, string]>([
    ['a bare text', 'What is the secret?'],
    ['a document of another version', JSON.stringify({ ...samplePrompt, version: 2 })],
    ['a document with more in it', JSON.stringify({ ...samplePrompt, secret: 1 })],
  ])('that is %s is given back as prompt-unreadable, and never sent', async (_, document) => {
    const world = await createJobWorld('leader', 'Four.', { document })
    await run(world)
    expect(abortsOf(world)).toEqual(['prompt-unreadable'])
    expect(world.complete).not.toHaveBeenCalled()
    const above = world.log.lines.filter((line) => !line.startsWith('DEBUG')).join('\n')
    expect(above).toContain('the sealed prompt cannot be read: ')
    expect(above).not.toContain('secret')
  })

  it.each<readonly [string, number, readonly string[]]>([
    ['chain', 30_000, []],
    ['gateway', 30_000, []],
    ['gateway', 90_000, ['prompt-unavailable']],
  ])('whose %s is away for %d ms is waited for, for 40 s', async (away, ms, aborts) => {
    const world = await createJobWorld('leader')
    const backAt = world.clock.now() + ms
    const during = async <T>(part: string, work: () => Promise<T>): Promise<T> => {
      if (part !== away || world.clock.now() >= backAt) return await work()
      throw new SvcError(`${part}-unavailable`, 'no answer', { hint: 'Wait.', retryable: true })
    }
    const { blobs, chain } = world.deps
    const { download } = blobs
    const { listCommitmentOf } = chain
    world.deps = {
      ...world.deps,
      blobs: { download: (cid, signal) => during('gateway', () => download(cid, signal)) },
      chain: {
        ...chain,
        listCommitmentOf: (...of) => during('chain', () => listCommitmentOf(...of)),
      },
    }
    await run(world)
    expect(abortsOf(world)).toEqual(aborts)
    expect(world.complete).toHaveBeenCalledTimes(aborts.length === 0 ? 1 : 0)
  })

  it('that the model cannot take is given back as prompt-not-supported', async () => {
    const world = await createJobWorld('leader')
    const hint = 'Leave it out.'
    world.complete.mockRejectedValue(
      new SvcError('prompt-not-supported', 'does not take a seed', { hint }),
    )
    await run(world)
    expect(abortsOf(world)).toEqual(['prompt-not-supported'])
  })
})
