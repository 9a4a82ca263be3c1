import { expect, it } from 'vitest'
import { scoreNode } from '../../../icl/background/score-node.ts'
import { newcomer } from '../../../lib/reputation.ts'
import { sampleJob } from '../rules/sample-job.ts'
import { createTestIcl, joinNode } from '../test-icl.ts'

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
