import { describe, expect, it } from 'vitest'
import type { JobId } from '../../lib/codecs.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { verifyReceipt } from '../../lib/receipt.ts'
import { type NodeStatement, signed } from '../../lib/statements.ts'
import { aHash } from '../branded.ts'
import { codeOf } from '../code-of.ts'
import { freshIcl, icl, nodeAt, nodes } from './fresh-icl.ts'
import {
  abortTurn,
  answerOf,
  check,
  claim,
  commitTo,
  deliver,
  deliveryOf,
  evidenceOf,
  openingOf,
  ownAssignment,
  verdictOf,
} from './node-steps.ts'
import { answerJob, delivererOf } from './run-job.ts'
import { submit } from './test-client.ts'
import { attestationOf, type TestNode, walletOf } from './test-icl.ts'

freshIcl(4)

const other = aHash(`0x${'9'.repeat(64)}`)

/** A statement that was posted, changed and signed anew. */
const changed = <S extends NodeStatement>(
  { key }: TestNode,
  { signature: _, ...statement }: S & { readonly signature: string },
  change: Partial<S>,
) => signed({ ...statement, ...change } as unknown as S, key)

/** A node that has claimed, and whether the others of its batch have committed. */
async function claimed() {
  const job = await submit(icl)
  const seated = [job.leader, ...job.verifiers].map(nodeAt) as [TestNode, TestNode, TestNode]
  const [node, ...others] = seated
  return { job, jobId: job.jobId, seated, node, others, work: await claim(node) }
}

/** All nodes of a batch have committed: the first to `answer`. */
async function committed(answer = 'yes') {
  const world = await claimed()
  await commitTo(world.node, world.work, answer)
  for (const each of world.others) await commitTo(each, await claim(each), 'yes')
  return { ...world, post: await openingOf(world.node, world.jobId) }
}

/** The three nodes of a job have answered the same, and this one delivers. */
async function agreed() {
  const { jobId, job, seated } = await answerJob(icl, nodes.slice(0, 4), ['yes', 'yes', 'yes'])
  const deliverer = (await delivererOf(seated, jobId))!
  const checkers = seated.filter((node) => node !== deliverer) as [TestNode, TestNode]
  return { jobId, job, seated, deliverer, checkers }
}

/** Attests a node again, with a session that ends so soon. */
async function shortenSession(node: TestNode, seconds = 60) {
  const api = icl.api(walletOf(node.name).signer)
  const { nonce } = await api.getChallenge({ params: { address: node.address } })
  const soon = Math.floor(icl.clock.now() / 1000) + seconds
  await api.verifyAttestation({ body: await attestationOf(node.name, nonce, node.key, soon) })
}

describe('an answer is refused', () => {
  it('that is about another model, length, place or list, or names other commitments', async () => {
    const { node, post } = await committed()
    for (const change of [
      { model_id: 'openai:cheaper' },
      { max_output_tokens: 1 },
      { position: post.position + 1 },
      { list: other },
      { seen: other },
    ]) {
      const body = await changed(node, post, change)
      expect([change, await codeOf(node.api.revealAnswer({ body }))]).toEqual([
        change,
        'statement-mismatch',
      ])
    }
  })

  it('whose evidence is of another comparator or malformed', async () => {
    const { node, work, jobId } = await claimed()
    const foreign = await comparators['similar/2'].evidenceOf({
      text: 'yes',
      prompt: '',
      key: new Uint8Array(32).fill(3),
    })
    const own = await answerOf(node, work, 'yes')
    for (const evidence of [foreign, { ...own.evidence, sketch: foreign.sketch }]) {
      const body = await changed(node, own, { evidence })
      expect(await codeOf(node.api.revealAnswer({ body }))).toBe('evidence-invalid')
    }
    expect((await ownAssignment(node, jobId)).status).toBe('claimed')
  })

  it('with a session that ends before the job', async () => {
    const { node, post, jobId } = await committed()
    await shortenSession(node)
    expect(await codeOf(node.api.revealAnswer({ body: post }))).toBe('certificate-expired')
    // Outages make a job last 20 minutes instead of 10 at most.
    await shortenSession(node, 1_190)
    expect(await codeOf(node.api.revealAnswer({ body: post }))).toBe('certificate-expired')
    expect((await ownAssignment(node, jobId)).status).toBe('committed')
    await shortenSession(node, 1_201)
    expect(await codeOf(node.api.revealAnswer({ body: post }))).toBeUndefined()
  })
})

it('a delivery is refused that names another answer, or comes under another fence', async () => {
  const { jobId, deliverer } = await agreed()
  const delivery = await deliveryOf(icl, deliverer, jobId)
  const post = async (change: object) =>
    codeOf(deliverer.api.postResult({ body: await changed(deliverer, delivery, change) }))
  expect(await post({ answer: other })).toBe('statement-mismatch')
  expect(await post({ fence: delivery.fence + 5 })).toBe('stale-fence')
  expect(await post({})).toBeUndefined()
  expect(await post({ output_cid: `bafkrei${'c'.repeat(51)}a` })).toBe('already-answered')
})

it('a delivery or a verdict is refused with a session that ends before the job: its receipt would not hold', async () => {
  const { jobId, job, deliverer, checkers, seated } = await agreed()
  await shortenSession(deliverer)
  expect(await codeOf(deliver(icl, deliverer, jobId))).toBe('certificate-expired')
  expect(await codeOf(abortTurn(deliverer, jobId, 'node-failed'))).toBe('certificate-expired')
  await icl.clock.advance(46_000)
  const next = (await delivererOf(seated, jobId))!
  await deliver(icl, next, jobId)
  expect(await codeOf(check(deliverer, jobId))).toBe('certificate-expired')
  await check(checkers.find((node) => node !== next)!, jobId)
  await icl.clock.advance(61_000)
  const receipt = await job.api.getReceipt({ params: { jobId } }, { readToken: job.readToken })
  const { keys } = await icl.api().getJwks()
  await verifyReceipt(receipt, { iclKeys: keys.map(({ x }) => x) })
})

describe('a verdict is refused', () => {
  it('that names another delivery or another own answer, or is on the own delivery', async () => {
    const { jobId, deliverer, checkers } = await agreed()
    await deliver(icl, deliverer, jobId)
    const [checker] = checkers
    const verdict = await verdictOf(checker, jobId)
    const post = async (node: TestNode, change: object) =>
      codeOf(node.api.postVerdict({ body: await changed(node, verdict, change) }))
    expect(await post(checker, { delivery: other })).toBe('statement-mismatch')
    expect(await post(checker, { answer: other })).toBe('statement-mismatch')
    const { body: delivery } = (await ownAssignment(checker, jobId)).to_check!.delivery
    const own = { address: deliverer.address, fence: delivery.fence, answer: delivery.answer }
    expect(await post(deliverer, own)).toBe('statement-mismatch')
    expect(await post(checker, {})).toBeUndefined()
  })

  it('with a reason for a match, or without one for anything else', async () => {
    const { jobId, deliverer, checkers } = await agreed()
    await deliver(icl, deliverer, jobId)
    const [checker] = checkers
    for (const said of [
      { verdict: 'match', reason: 'output-mismatch' },
      { verdict: 'no-match' },
    ] as const) {
      const body = await verdictOf(checker, jobId, said)
      expect(await codeOf(checker.api.postVerdict({ body }))).toBe('invalid-request')
    }
  })
})

describe('any statement', () => {
  /** Posts what a node may say at this moment, changed by a function. */
  const kinds = {
    answer: async () => {
      const { node, post, jobId } = await committed()
      const body = { ...post, evidence: await evidenceOf('no') }
      return {
        node,
        jobId,
        post,
        tampered: body,
        send: (sender: TestNode, said: object) =>
          sender.api.revealAnswer({ body: said as typeof post }),
      }
    },
    delivery: async () => {
      const { deliverer, jobId } = await agreed()
      const post = await deliveryOf(icl, deliverer, jobId)
      const tampered = { ...post, output_cid: `bafkrei${'c'.repeat(51)}a` }
      return {
        node: deliverer,
        jobId,
        post,
        tampered,
        send: (sender: TestNode, said: object) =>
          sender.api.postResult({ body: said as typeof post }),
      }
    },
    verdict: async () => {
      const { deliverer, checkers, jobId } = await agreed()
      await deliver(icl, deliverer, jobId)
      const [node] = checkers
      const post = await verdictOf(node, jobId)
      const tampered = { ...post, verdict: 'no-match', reason: 'output-mismatch' }
      return {
        node,
        jobId,
        post,
        tampered,
        send: (sender: TestNode, said: object) =>
          sender.api.postVerdict({ body: said as typeof post }),
      }
    },
  }
  for (const [kind, make] of Object.entries(kinds)) {
    it(`counts only when the session key of its own node signed it, in a job of its own (${kind})`, async () => {
      const { node, jobId, post, tampered, send } = await make()
      const statement = post as NodeStatement & { readonly signature: string }
      expect(await codeOf(send(node, tampered))).toBe('statement-signature-invalid')
      const seated = new Set(
        (await icl.deps.store.findJob(jobId))!.document.assignments.map((each) => each.node),
      )
      const outsider = nodes.find(({ address }) => !seated.has(address))!
      const neighbour = nodes.find(
        ({ address }) => seated.has(address) && address !== node.address,
      )!
      const forged = await changed(neighbour, statement, {})
      expect(await codeOf(send(node, forged))).toBe('statement-signature-invalid')
      // In its own name, signed by another; and another's, sent by itself.
      expect(await codeOf(send(neighbour, post))).toBe('statement-mismatch')
      expect(
        await codeOf(
          send(outsider, await changed(outsider, statement, { address: outsider.address })),
        ),
      ).toBe('not-assigned')
      const nowhere = `0x${'7'.repeat(64)}` as JobId
      expect(await codeOf(send(node, await changed(node, statement, { jobId: nowhere })))).toBe(
        'job-not-found',
      )
      expect(await codeOf(send(node, post))).toBeUndefined()
    })
  }
})
