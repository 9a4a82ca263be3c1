import { describe, expect, it } from 'vitest'
import { checkAck, verifyAck } from '../../lib/ack.ts'
import type { Ack, AckStatement } from '../../lib/schemas/statements.ts'
import { commitmentOf, statementHash } from '../../lib/statements.ts'
import { aHash } from '../branded.ts'
import { codeOf } from '../code-of.ts'
import { freshIcl, icl, nodeAt, nodes } from './fresh-icl.ts'
import { answerOf, claim, commitTo, deliver, deliveryOf, givenIn, reveal } from './node-steps.ts'
import { answerJob, checkAll, delivererOf } from './run-job.ts'
import { submit } from './test-client.ts'
import type { TestNode } from './test-icl.ts'

freshIcl(3)

const now = () => Math.floor(icl.clock.now() / 1000)

/** Checks that the ICL's published key signed this very acknowledgement. */
async function expectAck(ack: Ack, body: Omit<AckStatement, 'statement'>) {
  expect(ack.body).toEqual({ statement: 'svc-ack-v2', ...body })
  const { keys } = await icl.api().getJwks()
  await verifyAck(
    ack,
    keys.map(({ x }) => x),
  )
}

/** Who acknowledges what: a node, its fence, and the job. */
const aboutOf = (node: TestNode, jobId: AckStatement['jobId']) => {
  const { fence } = givenIn(node, jobId).claimed
  return { jobId, address: node.address, fence }
}

describe('what the ICL has taken in time', () => {
  it('is acknowledged under its published key: a commitment, an answer and a delivery, by their hashes', async () => {
    const { jobId, seated } = await answerJob(icl, nodes, ['yes', 'yes', 'yes'])
    await icl.clock.advance(3_000)
    const node = (await delivererOf(seated, jobId))!
    const { answer } = givenIn(node, jobId)
    const { signature: _, ...statement } = answer
    const about = aboutOf(node, jobId)
    const { fence } = about
    const commitment = await commitmentOf(answer)
    const { assignments } = (await icl.deps.store.findJob(jobId))!.document
    const own = assignments.find((assignment) => assignment.fence === fence)!
    const committed = await node.api.commitAssignment({ body: { jobId, fence, commitment } })
    expect(committed).toMatchObject({ jobId, status: 'revealed', phase: 'running' })
    const committedAt = Math.floor(own.committedAt! / 1000)
    const step = { ...about, step: 'commit', body_hash: commitment, at: committedAt } as const
    await expectAck(committed.ack, step)

    const revealed = await node.api.revealAnswer({ body: answer })
    expect(revealed).toMatchObject({ status: 'revealed', phase: 'running' })
    const body_hash = await statementHash(statement)
    const at = Math.floor(own.revealedAt! / 1000)
    await expectAck(revealed.ack, { ...about, step: 'reveal', body_hash, at })

    const body = await deliveryOf(icl, node, jobId)
    const deliveredAt = now()
    const delivered = await node.api.postResult({ body })
    const { signature: __, ...delivery } = body
    const hash = await statementHash(delivery)
    await expectAck(delivered.ack, { ...about, step: 'result', body_hash: hash, at: deliveredAt })
  })

  it('is acknowledged the same, at the time at which it came first, when it comes again: while the job runs and after', async () => {
    const job = await submit(icl)
    const { jobId } = job
    const seated = [job.leader, ...job.verifiers].map(nodeAt)
    const first = seated[0]!
    const claimed = await claim(first)
    const answer = await answerOf(first, claimed, 'yes')
    const commit = { jobId, fence: claimed.fence, commitment: await commitmentOf(answer) }
    const committed = await first.api.commitAssignment({ body: commit })
    await icl.clock.advance(5_000)
    expect((await first.api.commitAssignment({ body: commit })).ack).toEqual(committed.ack)
    await commitTo(first, claimed, 'yes')
    for (const node of seated.slice(1)) await commitTo(node, await claim(node), 'yes')
    const acks = new Map<TestNode, Ack>()
    for (const node of seated) acks.set(node, (await reveal(node, jobId)).ack)
    const deliverer = (await delivererOf(seated, jobId))!
    const delivery = await deliveryOf(icl, deliverer, jobId)
    const { ack } = await deliverer.api.postResult({ body: delivery })
    const repeated = async () => {
      await icl.clock.advance(3_000)
      for (const node of seated) expect((await reveal(node, jobId)).ack).toEqual(acks.get(node)!)
      const again = await deliverer.api.postResult({ body: delivery })
      expect(again.ack).toEqual(ack)
      return again.phase
    }
    expect(await repeated()).toBe('running')
    await checkAll(seated, jobId)
    expect(await repeated()).toBe('accepted')
    expect(ack.body.at).toBeLessThan(now() - 5)
  })

  it('is acknowledged the same to a node that has lost its seat since, and nothing else is taken of it', async () => {
    const { jobId, leader } = await submit(icl)
    const node = nodeAt(leader)
    const claimed = await claim(node)
    const { fence } = claimed
    const answer = await answerOf(node, claimed, 'yes')
    const body = { jobId, fence, commitment: await commitmentOf(answer) }
    const { ack } = await node.api.commitAssignment({ body })
    await node.api.abortAssignment({ body: { jobId, fence, reason: 'node-stopping' } })
    const again = await node.api.commitAssignment({ body })
    expect([again.status, again.ack]).toEqual(['aborted', ack])
    const other = { ...body, commitment: aHash(`0x${'9'.repeat(64)}`) }
    await expect(codeOf(node.api.commitAssignment({ body: other }))).resolves.toBe('stale-fence')
    await icl.clock.advance(600_000)
    const settled = await node.api.commitAssignment({ body })
    expect([settled.phase, settled.ack]).toEqual(['expired', ack])
  })

  it('is in the receipt: one that left it out would be shown to be false', async () => {
    const { job, jobId, seated } = await answerJob(icl, nodes, ['yes', 'yes', 'yes'])
    const acks: Ack[] = []
    for (const node of seated) {
      const { claimed, answer } = givenIn(node, jobId)
      const commitment = await commitmentOf(answer)
      const { fence } = claimed
      acks.push((await node.api.commitAssignment({ body: { jobId, fence, commitment } })).ack)
      acks.push((await reveal(node, jobId)).ack)
    }
    const deliverer = (await delivererOf(seated, jobId))!
    acks.push((await deliver(icl, deliverer, jobId)).ack)
    await checkAll(seated, jobId)
    const receipt = await job.api.getReceipt({ params: { jobId } }, { readToken: job.readToken })
    for (const ack of acks) expect(await checkAck(receipt, ack)).toBe(true)
    const [left] = acks
    const without = {
      ...receipt,
      answers: receipt.answers.filter(({ body }) => body.address !== left!.body.address),
    }
    expect(await codeOf(checkAck(without, left!))).toBe('receipt-invalid')
  })

  it('is not what was refused', async () => {
    const job = await submit(icl)
    const node = nodeAt(job.leader)
    const claimed = await claim(node)
    const { jobId, fence } = claimed
    await commitTo(node, claimed, 'yes')
    const other = await commitmentOf(await answerOf(node, claimed, 'no'))
    const again = node.api.commitAssignment({ body: { jobId, fence, commitment: other } })
    expect(await codeOf(again)).toBe('already-committed')
    expect(await codeOf(reveal(node, jobId))).toBe('too-early')
  })
})
