import { describe, expect, it } from 'vitest'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import type { Store } from '../../icl/store/store.ts'
import { ProblemError } from '../../lib/problem.ts'
import { codeOf } from '../code-of.ts'
import { startIcl } from './fresh-icl.ts'
import { claim, commitTo, offersOf, ownAssignment } from './node-steps.ts'
import { at, useReplicas } from './replica-set.ts'
import { submit } from './test-client.ts'
import { joinNodes, type TestIcl, type TestNode } from './test-icl.ts'

const { pair } = useReplicas()

async function start(count = 3, store: Store = createMemoryStore()) {
  const own = await startIcl({ store })
  return { icl: own, nodes: await joinNodes(own, count) }
}

const pollOf = ({ address, api }: TestNode, signal?: AbortSignal) =>
  api.getAssignments({ params: { address }, query: { wait: 20 } }, { timeoutMs: 40_000, signal })

const eventsOf = async (own: TestIcl, { address }: TestNode) => {
  const { events } = await own.api().getNodeEvents({ params: { address } })
  return events
}

/** A node with an offer. */
async function offered(store?: Store) {
  const { icl: own, nodes } = await start(3, store)
  const { jobId } = await submit(own)
  await own.clock.advance(1_000)
  const [node] = nodes as [TestNode]
  const [offer] = await offersOf(node)
  return { own, node, jobId, offer: offer!, body: { jobId, fence: offer!.fence } }
}

describe('a held poll', () => {
  it('brings all that a claim brings but the handles, and claims nothing', async () => {
    const { icl: own, nodes } = await start()
    const polls = nodes.map((node) => pollOf(node))
    await own.clock.advance(1_000)
    const { jobId } = await submit(own)
    for (const [index, poll] of polls.entries()) {
      const [{ deadline, ...offer } = { deadline: 0 }] = (await own.clock.until(poll)).assignments
      expect((await ownAssignment(nodes[index]!, jobId)).status).toBe('offered')
      const { fence } = await ownAssignment(nodes[index]!, jobId)
      const body = { jobId, fence, ms_per_token: 125 }
      const claimed = await nodes[index]!.api.claimAssignment({ body })
      const { kpHighHandle, kpLowHandle, block_number, claimDeadline, server_time, ...same } =
        claimed
      expect(offer).toEqual(same)
      expect(kpHighHandle).not.toBe(0n)
      expect(kpLowHandle).not.toBe(0n)
      expect(claimDeadline - server_time).toBe(316)
      expect(deadline).toBeLessThan(claimDeadline)
      await commitTo(nodes[index]!, claimed, 'yes')
    }
    expect((await ownAssignment(nodes[0]!, jobId)).step).toBe('reveal')
  })

  it('at one replica brings what another one offers, which either lets the node claim', async () => {
    const { a, b, clock, nodes } = await pair()
    const polls = nodes.map((node) => pollOf(at(b, node)))
    await clock.advance(1_000)
    const before = clock.now()
    const { jobId } = await submit(a)
    for (const [index, poll] of polls.entries()) {
      const [offer] = (await clock.until(poll)).assignments
      const body = { jobId, fence: offer!.fence }
      const first = await at(a, nodes[index]!).api.claimAssignment({ body })
      expect(await at(b, nodes[index]!).api.claimAssignment({ body })).toEqual(first)
    }
    expect(clock.now() - before).toBeLessThan(1_000)
  })

  it('that is lost, or whose node is killed before it claims, is repeated until the offer lapses', async () => {
    const { icl: own, nodes } = await start(4)
    const gone = new AbortController()
    const lost = nodes.map((node) => codeOf(pollOf(node, gone.signal)))
    await own.clock.advance(1_000)
    gone.abort(new Error('the connection broke'))
    await Promise.all(lost)
    const job = await submit(own)
    await own.clock.advance(1_000)
    const seated = nodes.filter(({ address }) => job.list.body.list.slice(0, 3).includes(address))
    const [node] = seated as [TestNode]
    const first = await offersOf(node)
    expect(first).toHaveLength(1)
    for (const other of seated.slice(1)) await claim(other, job.jobId)
    await own.clock.advance(15_000)
    expect(await offersOf(node)).toEqual(first)
    await own.clock.advance(6_000)
    expect((await ownAssignment(node, job.jobId)).status).toBe('lapsed')
    expect((await eventsOf(own, node)).map(({ body }) => body.code)).toEqual(['offer-lapsed'])
    expect(await offersOf(nodes.find((other) => !seated.includes(other))!)).toHaveLength(1)
  })
})

/** A store whose answer to the first save of a claim is lost. */
function losingClaim(): Store {
  const store = createMemoryStore()
  let isLost = false
  const saveAll: Store['saveAll'] = async (writes) => {
    const refused = await store.saveAll(writes)
    const isClaim = writes.some(
      (write) =>
        write.kind === 'job' && write.job.assignments.some(({ status }) => status === 'claimed'),
    )
    if (!isClaim || isLost) return refused
    isLost = true
    throw new ProblemError('unavailable', 'No answer of the database')
  }
  const save: Store['save'] = async (write) => (await saveAll([write])) === undefined
  return { ...store, save, saveAll }
}

describe('a claim', () => {
  it('whose answer is lost is sent again, also by a daemon that starts anew, and is the same', async () => {
    const { own, node, jobId, body } = await offered()
    const first = await node.api.claimAssignment({ body })
    await own.clock.advance(10_000)
    const again = await node.api.claimAssignment({ body })
    expect(again).toEqual({ ...first, server_time: first.server_time + 10 })
    expect(await offersOf(node)).toEqual([])
    await commitTo(node, first, 'yes')
    expect(await codeOf(node.api.claimAssignment({ body }))).toBeUndefined()
    expect((await ownAssignment(node, jobId)).status).toBe('committed')
  })

  it('that the database took without an answer is had by sending it again', async () => {
    const { node, jobId, body } = await offered(losingClaim())
    expect(await codeOf(node.api.claimAssignment({ body }))).toBe('unavailable')
    expect((await ownAssignment(node, jobId)).status).toBe('claimed')
    expect(await node.api.claimAssignment({ body })).toMatchObject(body)
  })

  it('of two processes of one wallet at once is granted once, with the same lease', async () => {
    const { own, node, jobId, body } = await offered()
    const both = await Promise.all([1, 2].map(() => node.api.claimAssignment({ body })))
    expect(both[0]).toEqual(both[1])
    const { events } = (await own.deps.store.findJob(jobId))!.document
    expect(
      events.filter(({ type, node: by }) => type === 'claimed' && by === node.address),
    ).toHaveLength(1)
  })
})
