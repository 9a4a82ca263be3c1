import { describe, expect, it } from 'vitest'
import type { JobId } from '../../lib/codecs.ts'
import { commitmentOf } from '../../lib/statements.ts'
import { codeOf } from '../code-of.ts'
import { icl, startIcl } from './fresh-icl.ts'
import {
  answerOf,
  claim,
  commitTo,
  deliveryOf,
  givenIn,
  offersOf,
  openingOf,
  ownAssignment,
  reveal,
  verdictOf,
} from './node-steps.ts'
import { at, useReplicas } from './replica-set.ts'
import { delivererOf } from './run-job.ts'
import { submit } from './test-client.ts'
import { joinNodes, type TestIcl, type TestNode } from './test-icl.ts'

const { pair } = useReplicas()

type Three = [TestNode, TestNode, TestNode]

/** A job of three nodes that have claimed it. */
async function claimedJob() {
  await startIcl()
  const nodes = (await joinNodes(icl, 3)) as Three
  const job = await submit(icl)
  const claims = await Promise.all(nodes.map((node) => claim(node)))
  return { icl, nodes, job, jobId: job.jobId, claims }
}

const held = { query: { wait: 20 } }
const patient = { timeoutMs: 30_000 }

/** Commits a node, and has the ICL hold its answer. */
async function commitHeld(node: TestNode, claimed: Awaited<ReturnType<typeof claim>>) {
  const { jobId, fence } = claimed
  const answer = await answerOf(node, claimed, 'yes')
  node.given.set(jobId, { claimed, answer })
  const body = { jobId, fence, commitment: await commitmentOf(answer) }
  return (signal?: AbortSignal) =>
    node.api.commitAssignment({ ...held, body }, { ...patient, signal })
}

describe('the answer to a step, if the node asks for it', () => {
  it('comes with the next one, so that a job takes a node three posts after its claim', async () => {
    const { icl: own, nodes, jobId, claims } = await claimedJob()
    const { clock } = own
    const posts = await Promise.all(nodes.map((node, index) => commitHeld(node, claims[index]!)))
    const committed = await clock.until(Promise.all(posts.map((post) => post())))
    expect(committed.map(({ next }) => next?.step)).toEqual(['reveal', 'reveal', 'reveal'])
    const openings = await Promise.all(nodes.map((node) => openingOf(node, jobId)))
    const revealing = nodes.map((node, index) =>
      node.api.revealAnswer({ ...held, body: openings[index]! }, patient),
    )
    const deliverer = await clock.until(delivererOnceKnown(own, nodes, jobId))
    expect(await revealing[nodes.indexOf(deliverer)]).toMatchObject({ next: { step: 'deliver' } })
    const delivering = deliverer.api.postResult(
      { ...held, body: await deliveryOf(own, deliverer, jobId) },
      patient,
    )
    const others = nodes.filter((node) => node !== deliverer)
    for (const node of others) {
      const { next } = await clock.until(revealing[nodes.indexOf(node)]!)
      expect(next).toMatchObject({ step: 'check', to_check: {} })
    }
    const judging = []
    for (const node of others) {
      const body = await verdictOf(node, jobId)
      judging.push(node.api.postVerdict({ ...held, body }, patient))
    }
    const ends = await clock.until(Promise.all([delivering, ...judging]))
    expect(ends.map(({ next }) => [next?.step, next?.phase])).toEqual(
      Array(3).fill(['over', 'accepted']),
    )
  })

  it('comes at once without `wait`, and with `wait` when that is over, as what it is', async () => {
    const { icl: own, nodes, jobId, claims } = await claimedJob()
    const post = await commitHeld(nodes[0], claims[0]!)
    const before = own.clock.now()
    const answer = await own.clock.until(post())
    expect(answer).toMatchObject({ status: 'committed', next: { step: 'wait' } })
    expect(own.clock.now() - before).toBeGreaterThan(19_000)
    const { fence } = claims[0]!
    const commitment = await commitmentOf(givenIn(nodes[0], jobId).answer)
    const { next: _, ...same } = answer
    expect(await nodes[0].api.commitAssignment({ body: { jobId, fence, commitment } })).toEqual(
      same,
    )
  })

  it('comes before the node gives up on it, however slow the chain was meanwhile', async () => {
    const { icl: own, nodes, jobId, claims } = await claimedJob()
    for (const [index, node] of nodes.entries()) await commitTo(node, claims[index]!, 'yes')
    for (const node of nodes) await reveal(node, jobId)
    const deliverer = await own.clock.until(delivererOnceKnown(own, nodes, jobId))
    const body = await deliveryOf(own, deliverer, jobId)
    const { outputKeyOf } = own.chain
    Object.assign(own.chain, {
      outputKeyOf: async (...of: Parameters<typeof outputKeyOf>) => {
        await own.clock.sleep(15_000)
        return outputKeyOf(...of)
      },
    })
    const before = own.clock.now()
    const answer = await own.clock.until(deliverer.api.postResult({ ...held, body }, patient))
    expect(answer).toMatchObject({ ack: { body: { step: 'result' } }, next: { step: 'wait' } })
    expect(own.clock.now() - before).toBeLessThanOrEqual(20_000)
  })

  it('that breaks off has taken the step all the same: sent again, it is acknowledged as before', async () => {
    const { icl: own, nodes, claims } = await claimedJob()
    const post = await commitHeld(nodes[0], claims[0]!)
    const broken = new AbortController()
    const first = codeOf(post(broken.signal))
    await own.clock.advance(1_000)
    broken.abort(new Error('the connection broke'))
    await first
    for (const [index, node] of nodes.entries()) {
      if (index > 0) await commitTo(node, claims[index]!, 'yes')
    }
    const { ack, next } = await own.clock.until(post())
    expect(ack.body).toMatchObject({ step: 'commit', address: nodes[0].address })
    expect(next?.step).toBe('reveal')
    for (const node of nodes) await reveal(node, claims[0]!.jobId)
  })

  it('brings what is offered to the node meanwhile, as a poll would', async () => {
    const { icl: own, nodes, claims } = await claimedJob()
    const { jobId } = await submit(own, { client: 'another' })
    await own.clock.advance(1_000)
    const { fence } = claims[0]!
    const answer = await answerOf(nodes[0], claims[0]!, 'yes')
    const body = { jobId: claims[0]!.jobId, fence, commitment: await commitmentOf(answer) }
    const { assignments } = await nodes[0].api.commitAssignment({ body })
    expect(assignments?.map((offer) => offer.jobId)).toEqual([jobId])
    expect(assignments).toEqual(await offersOf(nodes[0]))
  })

  it('leaves an ICL that stops at once, with what has been taken', async () => {
    const { icl: own, nodes, claims } = await claimedJob()
    const post = await commitHeld(nodes[0], claims[0]!)
    const answer = post()
    await own.clock.advance(1_000)
    const before = own.clock.now()
    own.deps.notifier.close()
    expect(await own.clock.until(answer)).toMatchObject({
      status: 'committed',
      next: { step: 'wait' },
    })
    expect(own.clock.now() - before).toBeLessThan(100)
  })

  it('does not wait where the caller holds as many requests as it may: nothing is refused for that', async () => {
    const { icl: own, nodes, jobId, claims } = await claimedJob()
    const [node] = nodes
    const gone = new AbortController()
    const polls = Array.from({ length: 32 }, () =>
      codeOf(
        node.api.getAssignments(
          { params: { address: node.address }, query: { wait: 30 } },
          { timeoutMs: 40_000, signal: gone.signal },
        ),
      ),
    )
    await own.clock.advance(100)
    const post = await commitHeld(node, claims[0]!)
    const answer = await post()
    expect(answer.status).toBe('committed')
    expect(answer.next).toBeUndefined()
    expect((await ownAssignment(node, jobId)).status).toBe('committed')
    gone.abort(new Error('enough'))
    await Promise.all(polls)
  })

  it('tells of what another replica took', async () => {
    const { a, b, clock, nodes } = await pair()
    const { jobId } = await submit(a)
    const claims = await Promise.all(nodes.map((node) => claim(node)))
    const [first, ...others] = nodes
    const post = await commitHeld(at(b, first!), claims[0]!)
    const answer = post()
    await clock.advance(1_000)
    const before = clock.now()
    for (const [index, node] of others.entries()) await commitTo(node, claims[index + 1]!, 'yes')
    expect((await clock.until(answer)).next).toMatchObject({ jobId, step: 'reveal' })
    expect(clock.now() - before).toBeLessThan(700)
  })
})

/** Who delivers, once all have revealed. */
async function delivererOnceKnown(own: TestIcl, nodes: readonly TestNode[], jobId: JobId) {
  for (;;) {
    const deliverer = await delivererOf(nodes, jobId)
    if (deliverer) return deliverer
    await own.clock.sleep(10)
  }
}
