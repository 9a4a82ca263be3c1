import { expect, it } from 'vitest'
import { scoreNode } from '../../../icl/background/score-node.ts'
import { newcomer } from '../../../lib/reputation.ts'
import { sampleJob } from '../rules/sample-job.ts'
import { createReplica, createShared, createTestIcl, joinNode } from '../test-icl.ts'

const job = sampleJob()

it('what a node did counts once, however often and by whomever it is noted', async () => {
  const icl = await createTestIcl()
  const { address: node } = await joinNode(icl, 'n1')
  const note = (fence: number, code: 'answer-delivered' | 'lease-lapsed' = 'answer-delivered') =>
    scoreNode(icl.deps, job, { node, fence, code })
  await Promise.all([note(1), note(1)])
  await icl.clock.advance(5_000)
  await note(1)
  const standing = async () => (await icl.deps.store.findNode(node))?.document.standing
  expect(await standing()).toMatchObject({ completed: 1, accepted: 1, score: newcomer.score + 10 })
  expect(await icl.deps.store.listReputationEvents(node, { limit: 1_000 })).toHaveLength(1)
  await note(2)
  await note(2, 'lease-lapsed')
  expect(await standing()).toMatchObject({ completed: 2, accepted: 2, score: newcomer.score + 15 })
  await icl.stop()
})

it('of many events those are read that came since the fold, also by replicas and after a conflict, and all of them when the event was there', async () => {
  const shared = createShared()
  const reads: number[] = []
  const conflicts = new Set<string>()
  const icl = await createReplica(shared, {
    store: {
      ...shared.store,
      shared: true,
      // As from a database, which knows nothing of the objects of this process.
      findNode: async (address) => structuredClone(await shared.store.findNode(address)),
      listReputationEvents: (address, page) => {
        reads.push(page.since ?? 0)
        return shared.store.listReputationEvents(address, page)
      },
      saveAll: async (writes) => {
        const node = writes.find((write) => write.kind === 'node')
        if (!node || !conflicts.delete(node.kind)) return shared.store.saveAll(writes)
        return node
      },
    },
  })
  const { address: node } = await joinNode(icl, 'n1')
  const note = (fence: number) => scoreNode(icl.deps, job, { node, fence, code: 'answer-differed' })
  for (let fence = 0; fence < 20; fence++) await note(fence)
  await icl.clock.advance(700_000)
  await note(20)
  reads.length = 0
  await note(21)
  conflicts.add('node')
  await note(22)
  expect(reads.map((since) => since > 0)).toEqual([true, true, true])
  reads.length = 0
  await note(22)
  expect(reads.map((since) => since > 0)).toEqual([true, false])
  expect((await icl.deps.store.findNode(node))?.document.standing.completed).toBe(23)
  await icl.stop()
})
