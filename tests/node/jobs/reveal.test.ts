import { describe, expect, it } from 'vitest'
import { seenHash } from '../../../lib/statements.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import { aHash } from '../../branded.ts'
import { nodeAddress } from '../fakes.ts'
import { createJobWorld, type JobWorld } from '../job-world.ts'

type Commitments = NonNullable<ReturnType<JobWorld['look']>['commitments']>

const other = { address: nodeAddress, fence: 7, commitment: aHash(`0x${'7'.repeat(64)}`) }

/** Runs a job at an ICL that hands out these commitments in place of those of the batch. */
async function runWith(change: (own: Commitments) => Commitments | undefined) {
  const world = await createJobWorld('verifier')
  world.api.getAssignment.mockImplementation(async () => {
    const { commitments, ...view } = world.look()
    const told = commitments && change(commitments)
    return { ...view, ...(told && { commitments: told }) }
  })
  const { signal } = new AbortController()
  const steps = { onClaimed: () => {}, onSlotFree: () => {} }
  await world.clock.until(runJob(world.deps, world.assignment, signal, steps))
  return world
}

describe('a node that is to reveal', () => {
  it('signs the commitments of its batch, in the order of their fences', async () => {
    let shown: Commitments = []
    const world = await runWith((own) => {
      shown = [other, ...own]
      return shown
    })
    const [{ body }] = world.api.revealAnswer.mock.calls[0]!
    expect(body.seen).toBe(await seenHash(shown))
    expect(body.seen).toBe(await seenHash(shown.toReversed()))
    expect(body.seen).not.toBe(await seenHash([]))
  })

  it.each([
    ['no commitments', () => undefined],
    ['those of others', () => [other]],
    ['its own under another fence', ([own]: Commitments) => [{ ...own!, fence: 2 }]],
    [
      'another commitment as its own',
      ([own]: Commitments) => [{ ...own!, commitment: other.commitment }],
    ],
  ])('signs nothing where the ICL shows %s', async (_, change) => {
    const world = await runWith(change)
    expect(world.api.revealAnswer).not.toHaveBeenCalled()
    expect(world.journal.steps.map(({ step }) => step)).not.toContain('answer')
    expect(world.log.lines.join('\n')).toContain('its list of commitments lacks that of this node')
  })
})

it.each([
  ['leader', 0],
  ['verifier', 1],
] as const)(
  'the log of a %s that delivers says %i times that it is not the leader',
  async (role, times) => {
    const world = await createJobWorld(role)
    world.turns.length = 0
    world.turns.push({ step: 'deliver', checkers: [1, 2] })
    const { signal } = new AbortController()
    const steps = { onClaimed: () => {}, onSlotFree: () => {} }
    await world.clock.until(runJob(world.deps, world.assignment, signal, steps))
    const lines = world.log.lines.filter((line) =>
      line.includes('delivering in place of the leader'),
    )
    expect(lines).toHaveLength(times)
    expect(world.history.records.at(-1)).toMatchObject({
      ...{ role, outcome: 'result-posted', deliverer: nodeAddress },
    })
  },
)
