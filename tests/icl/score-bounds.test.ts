import { describe, expect, it } from 'vitest'
import { scoreNode } from '../../icl/background/score-node.ts'
import type { Dependencies } from '../../icl/dependencies.ts'
import { isReputationCode, reputationCodes } from '../../lib/reputation.ts'
import { dayMs } from '../../lib/time.ts'
import { aJobId, anAddress } from '../branded.ts'
import { freshIcl, icl, nodes } from './fresh-icl.ts'
import { sampleJob } from './rules/sample-job.ts'
import { runJob } from './run-job.ts'
import type { TestNode } from './test-icl.ts'

freshIcl(3)

const eventsOf = async ({ address }: { address: TestNode['address'] }) =>
  (await icl.api().getNodeEvents({ params: { address }, query: {} })).events.map(({ body }) => body)

/** The ICL at a time of its own. */
const depsAt = (at: number): Dependencies => ({
  ...icl.deps,
  clock: { ...icl.clock, now: () => at },
})
const jobOf = (index: number, client = sampleJob().client) => ({
  ...sampleJob(),
  id: aJobId(`0x${index.toString(16).padStart(64, '0')}`),
  client,
})

it('the allowance of a client is its own a week after its first accepted job, and shared with all new ones before', async () => {
  const [node] = ['a'].map((digit) => anAddress(`0x${digit.repeat(40)}`))
  const note = async (at: number, index: number, phase: 'accepted' | 'disputed') => {
    const job = { ...jobOf(index), phase, settledAt: at }
    await scoreNode(depsAt(at), job, { node: node!, fence: 1, code: 'answer-differed' })
    const events = await icl.deps.store.listReputationEvents(node!, { limit: 1_000 })
    return events.find(({ jobId }) => jobId === job.id)?.client
  }

  const { client } = sampleJob()
  const start = 1_000 * dayMs
  expect(await note(start, 1, 'disputed')).toBe('newcomers')
  expect(await icl.deps.store.findClient(client)).toBeUndefined()
  expect(await note(start + 5, 2, 'accepted')).toBe('newcomers')
  expect(await note(start + 9, 3, 'accepted')).toBe('newcomers')
  expect((await icl.deps.store.findClient(client))?.document.firstAcceptedAt).toBe(start + 5)
  expect(await note(start + 5 + 7 * dayMs - 1, 4, 'disputed')).toBe('newcomers')
  expect(await note(start + 5 + 7 * dayMs, 5, 'disputed')).toBe(client)
})

describe('a ring that feeds itself', () => {
  it('gains once with the same partners, however many jobs and wallets it pays for', async () => {
    for (const client of ['c1', 'c2', 'c3']) {
      await runJob(icl, nodes, ['yes', 'yes', 'yes'], { client })
      await icl.clock.advance(2_000)
    }
    for (const node of nodes) {
      const events = (await eventsOf(node)).toReversed()
      expect(events.map(({ again }) => again)).toEqual([undefined, true, true])
      expect(new Set(events.map(({ partners }) => partners)).size).toBe(1)
      const { code } = events[0]!
      const gain = isReputationCode(code) ? reputationCodes[code].score : 0
      const { metrics } = await icl.api().getNode({ params: { address: node.address } })
      expect([metrics.reputation_score, metrics.tasks_completed]).toEqual([100 + gain, 3])
    }
  })

  it('gains again with others and on the next UTC day; a gain that is noted twice is one', async () => {
    const [node, a, b] = nodes.map(({ address }) => address)
    const gain = async (index: number, at: number, partners: readonly (typeof a)[]) => {
      const members = partners.flatMap((partner) => partner ?? [])
      const what = { node: node!, fence: 1, code: 'answer-agreed' as const, partners: members }
      await scoreNode(depsAt(at), jobOf(index), what)
      const events = await icl.deps.store.listReputationEvents(node!, { limit: 1_000 })
      return events.find(({ jobId }) => jobId === jobOf(index).id)?.again
    }
    const at = icl.clock.now()
    const midnight = (Math.floor(at / dayMs) + 1) * dayMs
    expect(await gain(1, at, [a, b])).toBeUndefined()
    expect(await gain(1, at, [a, b])).toBeUndefined()
    expect(await gain(2, at, [b, a])).toBe(true)
    expect(await gain(3, at, [a])).toBeUndefined()
    expect(await gain(4, midnight - 1, [a, b])).toBe(true)
    expect(await gain(5, midnight, [a, b])).toBeUndefined()
  })
})
