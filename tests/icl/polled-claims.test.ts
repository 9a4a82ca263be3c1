import { afterEach, describe, expect, it } from 'vitest'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import type { Store } from '../../icl/store/store.ts'
import { ProblemError } from '../../lib/problem.ts'
import { commitmentOf } from '../../lib/statements.ts'
import { codeOf } from '../code-of.ts'
import { answerOf, commitTo, offersOf, ownAssignment } from './node-steps.ts'
import { at, useReplicas } from './replica-set.ts'
import { submit } from './test-client.ts'
import { createTestIcl, joinNodes, type TestIcl, type TestNode } from './test-icl.ts'

const { pair } = useReplicas()

let icl: TestIcl | undefined
afterEach(() => icl?.stop())

async function start(count = 3, store: Store = createMemoryStore()) {
  const own = await createTestIcl({ store })
  icl = own
  return { icl: own, nodes: await joinNodes(own, count) }
}

/** A poll that claims what it brings. */
const pollOf = (
  { address, api }: TestNode,
  poll: string,
  { claim = 2, wait = 0, signal }: { claim?: number; wait?: number; signal?: AbortSignal } = {},
) =>
  api.getAssignments(
    { params: { address }, query: { wait, claim, poll } },
    { timeoutMs: 40_000, signal },
  )

const eventsOf = async (own: TestIcl, { address }: TestNode) => {
  const { events } = await own.api().getNodeEvents({ params: { address } })
  return events
}

describe('a poll that claims', () => {
  it('brings all that a claim brings, for the time of an offer, and a commitment needs no other claim', async () => {
    const { icl: own, nodes } = await start()
    const polls = nodes.map((node) => pollOf(node, 'AAAA', { wait: 20 }))
    await own.clock.advance(1_000)
    const { jobId } = await submit(own)
    for (const [index, poll] of polls.entries()) {
      const { assignments, claims = [] } = await own.clock.until(poll)
      const [claimed] = claims
      expect(assignments).toEqual([])
      expect(claimed).toMatchObject({ jobId, client: expect.any(String) })
      const seconds = claimed!.claimDeadline - claimed!.server_time
      expect(seconds).toBe(20)
      await commitTo(nodes[index]!, claimed!, 'yes')
    }
    expect((await ownAssignment(nodes[0]!, jobId)).step).toBe('reveal')
  })

  it('is given its lease by a claim, and its work is not handed out once more', async () => {
    const { icl: own, nodes } = await start()
    const { jobId } = await submit(own)
    await own.clock.advance(1_000)
    const { claims = [] } = await pollOf(nodes[0]!, 'AAAA')
    const { fence } = claims[0]!
    await own.clock.advance(10_000)
    const claimed = await nodes[0]!.api.claimAssignment({ body: { jobId, fence } })
    expect(claimed.claimDeadline - claimed.server_time).toBe(120)
    for (const name of ['AAAA', 'BBBB', '']) {
      expect(await pollOf(nodes[0]!, name)).toEqual({ assignments: [], claims: [] })
    }
    await own.clock.advance(60_000)
    expect((await ownAssignment(nodes[0]!, jobId)).status).toBe('claimed')
  })

  it('claims no more than it asks for, and nothing where it does not ask', async () => {
    const { icl: own, nodes } = await start()
    await submit(own)
    await own.clock.advance(1_000)
    expect(await offersOf(nodes[0]!)).toHaveLength(1)
    const none = await pollOf(nodes[0]!, 'AAAA', { claim: 0 })
    expect([none.assignments.length, none.claims]).toEqual([1, undefined])
    await submit(own)
    await own.clock.advance(1_000)
    const one = await pollOf(nodes[0]!, 'AAAA', { claim: 1 })
    expect([one.assignments.length, one.claims?.length]).toEqual([1, 1])
    const again = await pollOf(nodes[0]!, 'AAAA', { claim: 1 })
    expect(again.claims?.map(({ jobId }) => jobId)).toEqual([one.claims![0]!.jobId])
  })
})

/** A store whose answer to the first save of a claim is lost. */
function losingClaim(): Store {
  const store = createMemoryStore()
  let isLost = false
  const saveAll: Store['saveAll'] = async (writes, id) => {
    const refused = await store.saveAll(writes, id)
    const isClaim = writes.some(
      (write) =>
        write.kind === 'job' && write.job.assignments.some(({ status }) => status === 'claimed'),
    )
    if (!isClaim || isLost) return refused
    isLost = true
    throw new ProblemError('unavailable', 'No answer of the database')
  }
  const save: Store['save'] = async (write, id) => (await saveAll([write], id)) === undefined
  return { ...store, save, saveAll }
}

describe('an answer to it that is lost', () => {
  it('is had again by the name of the poll, or by a daemon that starts anew, and by nobody else', async () => {
    const { icl: own, nodes } = await start()
    const { jobId } = await submit(own)
    await own.clock.advance(1_000)
    await pollOf(nodes[0]!, 'AAAA')
    const { claims: others } = await pollOf(nodes[0]!, 'BBBB')
    const { claims: same } = await pollOf(nodes[0]!, 'AAAA')
    const { claims: anew } = await pollOf(nodes[0]!, '')
    expect([others, same?.length, anew]).toEqual([[], 1, same])
    const answer = await answerOf(nodes[0]!, anew![0]!, 'yes')
    const { fence } = answer
    const commitment = await commitmentOf(answer)
    const { status } = await nodes[0]!.api.commitAssignment({ body: { jobId, fence, commitment } })
    expect(status).toBe('committed')
  })

  it('costs the seat after 20 s and no point; another node has it', async () => {
    const { icl: own, nodes } = await start(4)
    const job = await submit(own)
    await own.clock.advance(1_000)
    const seated = nodes.filter(({ address }) => job.list.body.list.slice(0, 3).includes(address))
    const lost = seated[0]!
    expect((await pollOf(lost, 'AAAA')).claims).toHaveLength(1)
    await own.clock.advance(19_000)
    expect((await ownAssignment(lost, job.jobId)).status).toBe('claimed')
    await own.clock.advance(3_000)
    expect((await ownAssignment(lost, job.jobId)).status).toBe('lapsed')
    expect(await eventsOf(own, lost)).toEqual([])
    const spare = nodes.find((node) => !seated.includes(node))!
    expect((await pollOf(spare, 'AAAA')).claims).toHaveLength(1)
  })

  it('by the store: the poll brings what it claimed at once, and no more than it asked for', async () => {
    const { icl: own, nodes } = await start(3, losingClaim())
    const polls = nodes.map((node) => pollOf(node, 'AAAA', { claim: 1, wait: 20 }))
    await own.clock.advance(1_000)
    const first = await submit(own)
    await own.clock.advance(1_000)
    await submit(own)
    for (const poll of polls) {
      const { claims = [] } = await own.clock.until(poll)
      expect(claims.map(({ jobId }) => jobId)).toEqual([first.jobId])
    }
  })

  it('is not given to a caller that has gone away: nothing is claimed for it', async () => {
    const { icl: own, nodes } = await start()
    const gone = new AbortController()
    const poll = codeOf(pollOf(nodes[0]!, 'AAAA', { wait: 20, signal: gone.signal }))
    await own.clock.advance(1_000)
    gone.abort(new Error('the connection broke'))
    await poll
    const { jobId } = await submit(own)
    await own.clock.advance(1_000)
    expect((await ownAssignment(nodes[0]!, jobId)).status).toBe('offered')
  })

  it('is not claimed by an ICL that stops', async () => {
    const { icl: own, nodes } = await start()
    const { jobId } = await submit(own)
    await own.clock.advance(1_000)
    own.deps.notifier.close()
    expect((await pollOf(nodes[0]!, 'AAAA')).claims).toEqual([])
    expect((await ownAssignment(nodes[0]!, jobId)).status).toBe('offered')
  })
})

it('a poll at one replica claims what another one offers', async () => {
  const { a, b, clock, nodes } = await pair()
  const polls = nodes.map((node) => pollOf(at(b, node), 'AAAA', { wait: 20 }))
  await clock.advance(1_000)
  const before = clock.now()
  const { jobId } = await submit(a)
  for (const poll of polls) expect((await clock.until(poll)).claims).toMatchObject([{ jobId }])
  expect(clock.now() - before).toBeLessThan(1_000)
})
