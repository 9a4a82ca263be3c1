import { beforeEach, describe, expect, it } from 'vitest'
import { verifyReceipt } from '../../lib/receipt.ts'
import { signed, statementHash } from '../../lib/statements.ts'
import { codeOf } from '../code-of.ts'
import { weighingHeartbeat } from '../fuzz/world.ts'
import { sampleScore } from '../lib/attested.ts'
import { freshIcl, icl, nodes } from './fresh-icl.ts'
import { deliver, givenIn, ownAssignment } from './node-steps.ts'
import { answerJob, checkAll, delivererOf } from './run-job.ts'
import type { TestNode } from './test-icl.ts'

freshIcl(3)

let job: Awaited<ReturnType<typeof answerJob>>

beforeEach(async () => {
  await icl.clock.advance(1_000)
  for (const { address, api } of nodes) {
    await api.postHeartbeat({ body: weighingHeartbeat(address, icl.clock) })
  }
  await icl.clock.advance(1_000)
  job = await answerJob(icl, nodes, ['yes', 'yes', 'yes'], { needs: { parts: ['teacher'] } })
})

const partOf = (node: TestNode) => {
  const { jobId } = job
  return { jobId, fence: givenIn(node, jobId).claimed.fence }
}

const stepOf = async (node: TestNode) => (await ownAssignment(node, job.jobId)).step

/** Uploads other bytes of each node's answer, as a node does that seals it. */
async function show(node: TestNode): Promise<string> {
  const { jobId, fence } = partOf(node)
  const body = new Uint8Array(64).fill(fence).with(0, 1) as Uint8Array<ArrayBuffer>
  const { cid } = await node.api.putBlob({ query: { jobId, fence }, body })
  await node.api.showAnswer({ body: { jobId, fence, cid } })
  return cid
}

/** A node's numbers of the answers that the ICL gives it to weigh. */
async function numbersOf(node: TestNode) {
  const { to_weigh: answers = [] } = await ownAssignment(node, job.jobId)
  const weighed = await Promise.all(
    answers.map(async ({ answer: { body } }) => {
      const answer = await statementHash(body)
      return { answer, score: await sampleScore(answer) }
    }),
  )
  const { address, key } = node
  const about = { statement: 'svc-numbers-v1', address, ...partOf(node) } as const
  return await signed({ ...about, weighed, salt: 'A'.repeat(43) }, key)
}

async function commitTo(node: TestNode) {
  const post = await numbersOf(node)
  const { signature: _, ...numbers } = post
  const commitment = await statementHash(numbers)
  await node.api.weighAnswers({ body: { ...partOf(node), commitment } })
  return post
}

async function settle() {
  const { jobId } = job
  const deliverer = (await delivererOf(nodes, jobId))!
  await deliver(icl, deliverer, jobId)
  await checkAll(nodes, jobId)
}

describe('the answers of a job that asks for numbers', () => {
  it('are shown, delivered and weighed, and the receipt holds all numbers', async () => {
    for (const node of nodes) expect(await stepOf(node)).toBe('show')
    const cids = []
    for (const node of nodes) cids.push(await show(node))
    await settle()
    const posts = []
    for (const node of nodes) {
      const { to_weigh: others = [] } = await ownAssignment(node, job.jobId)
      const own = cids[nodes.indexOf(node)]
      const rest = cids.filter((cid) => cid !== own)
      expect(new Set(others.map(({ cid }) => cid))).toEqual(new Set(rest))
      posts.push(await commitTo(node))
    }
    for (const [at, node] of nodes.entries()) {
      expect(await stepOf(node)).toBe('open')
      await node.api.openNumbers({ body: posts[at]! })
    }
    expect((await job.view()).status).toBe('accepted')
    const receipt = await job.job.api.getReceipt(
      { params: { jobId: job.jobId } },
      { readToken: job.job.readToken },
    )
    await verifyReceipt(receipt)
    const weighers = receipt.attested?.map(({ body }) => body.address)
    expect(new Set(weighers)).toEqual(new Set(nodes.map(({ address }) => address)))
  })

  it('are weighed by no other numbers than a node has committed to', async () => {
    for (const node of nodes) await show(node)
    await settle()
    const [first, ...others] = nodes as [TestNode, TestNode, TestNode]
    const post = await commitTo(first)
    expect(await codeOf(first.api.openNumbers({ body: post }))).toBe('too-early')
    for (const node of others) await node.api.weighAnswers({ body: partOf(node) })
    const changed = await signed({ ...post, salt: `${'B'.repeat(42)}A` }, first.key)
    expect(await codeOf(first.api.openNumbers({ body: changed }))).toBe('commitment-mismatch')
    const forged = { ...post, signature: changed.signature }
    expect(await codeOf(first.api.openNumbers({ body: forged }))).toBe(
      'statement-signature-invalid',
    )
    await first.api.openNumbers({ body: post })
    expect((await job.view()).status).toBe('accepted')
  })

  it('are uploaded before they are shown, and not after', async () => {
    for (const node of nodes) await show(node)
    const deliverer = await delivererOf(nodes, job.jobId)
    const other = nodes.find((node) => node !== deliverer)!
    expect(await codeOf(show(other))).toBe('not-your-turn')
  })
})
