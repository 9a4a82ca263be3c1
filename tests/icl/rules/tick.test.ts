import { describe, expect, it } from 'vitest'
import { viewJob } from '../../../icl/operations/view-job.ts'
import { defaultJobLimits, type Job } from '../../../icl/rules/job.ts'
import { needsMembers } from '../../../icl/rules/tick.ts'
import type { Address } from '../../../lib/codecs.ts'
import type { AbortReason } from '../../../lib/schemas/jobs.ts'
import { anAddress } from '../../branded.ts'
import {
  abortBy,
  claimed,
  commitBy,
  committed,
  decidedJob,
  fenceOf,
  nodeA,
  nodeAddress,
  nodeB,
  nodeC,
  nodeD,
  nodeE,
  revealBy,
  sampleJob,
  take,
  tickWith,
} from './sample-job.ts'

const abort = (job: Job, node: typeof nodeA, now: number) =>
  take(job, { type: 'abort', node, fence: fenceOf(job, node), reason: 'node-failed' }, now)
const tick = (job: Job, fit: readonly Address[], now: number, busy: readonly Address[] = []) =>
  take(job, tickWith(fit, busy), now)
const newestOf = ({ assignments }: Job) => assignments.at(-1)

it('the state of the list is needed when a seat is empty and it is time, or a deadline has passed; not once the job is over', () => {
  const job = sampleJob()
  expect(needsMembers(job, 100)).toBe(false)
  const empty = abort(job, nodeA, 100)
  expect([needsMembers(empty, 99), needsMembers(empty, 100)]).toEqual([false, true])
  expect(needsMembers(empty, 600_000)).toBe(false)
  expect(needsMembers(take(empty, { type: 'cancel' }, 100), 100)).toBe(false)
  const leased = claimed(job, nodeA, 10)
  const end = 10 + defaultJobLimits.leaseMs
  expect([needsMembers(leased, end - 1), needsMembers(leased, end)]).toEqual([false, true])
  const over = take(leased, { type: 'find-ended', node: nodeB, fence: 2 }, 20)
  expect([over.phase, needsMembers(over, end)]).toEqual(['expired', false])
})

describe('a new job', () => {
  const seatsOf = (job: Job) => job.assignments.map(({ seat, position }) => [seat, position])
  const passed = (...positions: readonly number[]) =>
    positions.map((position) => ({ position, reason: 'no-heartbeat' as const, at: 0 }))

  it('seats the first of its list that were not passed over', () => {
    expect(seatsOf(sampleJob())).toEqual([0, 1, 2].map((at) => [at, at]))
    const job = sampleJob({ passed: passed(0, 2) })
    expect(seatsOf(job)).toEqual([
      [0, 1],
      [1, 3],
      [2, 4],
    ])
  })

  it('passes over only those before whom another is seated', () => {
    const busy = [0, 1, 2, 3].map((position) => ({ position, reason: 'busy' as const, at: 0 }))
    const job = sampleJob({ members: [nodeA, nodeB, nodeC, nodeD], passed: busy })
    expect([seatsOf(job).length, job.passed]).toEqual([3, []])
    const later = sampleJob({ passed: [...passed(1), ...passed(9)] })
    expect(later.passed.map(({ position }) => position)).toEqual([1])
  })

  it('looks for others at once when its list has too few that can be seated', () => {
    const job = sampleJob({ members: [nodeA, nodeB, nodeC], passed: passed(1) })
    expect([seatsOf(job).length, job.fillAt, job.tickAt]).toEqual([2, 0, 0])
  })
})

describe('a cause that lies in the job', () => {
  const giveBack = (job: Job, node: typeof nodeA, reason: AbortReason) =>
    take(job, { type: 'abort', node, fence: fenceOf(job, node), reason }, 10)
  const others = [nodeD, nodeE]
  const sixMore = [...'12345678'].map(nodeAddress)

  it('named by three nodes ends the job: no other node pays its provider for it', () => {
    const once = giveBack(sampleJob(), nodeA, 'provider-refused')
    const twice = giveBack(once, nodeB, 'provider-refused')
    for (const job of [once, twice]) expect(tick(job, others, 20).phase).toBe('open')
    const all = giveBack(twice, nodeC, 'provider-refused')
    expect(tick(all, others, 20)).toMatchObject({ phase: 'expired', reason: 'attempts-exhausted' })
  })

  it('ends the job when three of six name it, and no other cause', () => {
    const six = sampleJob({ terms: { rule: 'majority', quorum: 6 } })
    const twice = giveBack(giveBack(six, nodeA, 'provider-refused'), nodeB, 'provider-refused')
    const [same, other] = (['provider-refused', 'provider-answer-empty'] as const).map((reason) =>
      tick(giveBack(twice, nodeC, reason), sixMore, 20),
    )
    expect([same?.phase, other?.phase]).toEqual(['expired', 'open'])
  })

  it('ends the job when more nodes name it than have committed, and a cause of the node never does', () => {
    const claimedC = claimed(sampleJob(), nodeC, 5)
    const could = take(claimedC, commitBy(claimedC, nodeC, 'x'), 6)
    const twice = giveBack(giveBack(could, nodeA, 'provider-refused'), nodeB, 'provider-refused')
    expect(tick(twice, others, 20).phase).toBe('running')
    const thrice = giveBack(tick(twice, others, 20), nodeD, 'provider-refused')
    expect(tick(thrice, [nodeAddress('f')], 30).phase).toBe('expired')
    const six = sampleJob({ terms: { rule: 'majority', quorum: 6 } })
    const answering = committed(
      six,
      [nodeD, nodeE, nodeAddress('f')].map((node) => [node, 'x']),
      5,
    )
    const equal = [nodeA, nodeB, nodeC].reduce(
      (job, node) => giveBack(job, node, 'provider-refused'),
      answering,
    )
    expect(tick(equal, sixMore, 20).phase).toBe('running')
    const failed = giveBack(giveBack(sampleJob(), nodeA, 'node-failed'), nodeB, 'node-failed')
    expect(tick(failed, others, 20).phase).toBe('open')
  })
})

describe('a prompt that does not open', () => {
  const giveBack = (job: Job, node: Address, reason: 'prompt-unreadable' | 'envelope-invalid') =>
    take(job, { type: 'abort', node, fence: fenceOf(job, node), reason }, 10)

  it('for two nodes ends the job, also after a commitment: its client may have left them out', () => {
    const claimedC = claimed(sampleJob(), nodeC, 5)
    const committed = take(claimedC, commitBy(claimedC, nodeC, 'x'), 6)
    const once = giveBack(committed, nodeA, 'envelope-invalid')
    expect(tick(once, [nodeD, nodeE], 20).phase).toBe('running')
    const twice = giveBack(once, nodeB, 'prompt-unreadable')
    const ended = { phase: 'expired', reason: 'attempts-exhausted' }
    expect(tick(twice, [nodeD, nodeE], 20)).toMatchObject(ended)
  })

  it('for two added nodes leaves a job whose quorum has opened it as it is', () => {
    const differing = decidedJob('x', 'y', 'z')
    expect(differing.seats).toBeGreaterThan(3)
    const seated = tick(differing, [nodeD, nodeE], 20)
    const added = seated.assignments.slice(3).map(({ node }) => node)
    const back = added.reduce((job, node) => giveBack(job, node, 'envelope-invalid'), seated)
    expect(added.length).toBeGreaterThan(1)
    // As without the prompt: the list has no other node.
    expect(tick(back, [], 30).phase).toBe('disputed')
  })
})

describe('empty seats', () => {
  it('go to the earliest members that never had one and are fit', () => {
    const job = abort(abort(sampleJob(), nodeA, 10), nodeB, 10)
    const filled = tick(job, [nodeE, nodeD, nodeA, nodeAddress('f')], 20)
    expect(
      filled.assignments.slice(3).map(({ seat, node, position }) => [seat, node, position]),
    ).toEqual([
      [0, nodeD, 3],
      [1, nodeE, 4],
    ])
    expect(filled.passed).toEqual([])
  })

  it('pass members over by name, with each reason once', () => {
    const job = abort(sampleJob(), nodeA, 10)
    const first = tick(job, [nodeAddress('f')], 20, [nodeE])
    expect(newestOf(first)?.position).toBe(5)
    expect(first.passed).toEqual([
      { position: 3, reason: 'no-heartbeat', at: 20 },
      { position: 4, reason: 'busy', at: 20 },
    ])
    const second = tick(abort(first, nodeB, 30), [nodeAddress('1')], 40, [nodeD])
    expect(second.passed).toEqual([
      ...first.passed,
      { position: 3, reason: 'busy', at: 40 },
      { position: 4, reason: 'no-heartbeat', at: 40 },
    ])
    const third = tick(abort(second, nodeC, 50), [nodeAddress('2')], 60, [nodeD])
    expect(third.passed).toEqual(second.passed)
  })

  it('go to a member that was passed over, once it is fit, before any later one', () => {
    const job = tick(abort(sampleJob(), nodeA, 10), [nodeE], 20)
    expect(newestOf(tick(abort(job, nodeB, 30), [nodeD, nodeAddress('f')], 40))?.node).toBe(nodeD)
  })

  it('go to a node that may return rather than wait for one that is busy for good', () => {
    const job = take(
      claimed(sampleJob(), nodeA, 10),
      { type: 'abort', node: nodeA, fence: 1, reason: 'provider-unavailable' },
      20,
    )
    const waiting = tick(job, [], 2_020, [nodeD])
    expect([waiting.assignments.length, waiting.reason]).toEqual([3, 'not-enough-nodes'])
    expect(newestOf(tick(waiting, [nodeA], 3_020, [nodeD]))).toMatchObject({ node: nodeA, seat: 0 })
  })

  it('go to the same node only when nobody else is left, it is free, and some seconds have passed', () => {
    let job = claimed(sampleJob(), nodeA, 10)
    job = take(job, { type: 'abort', node: nodeA, fence: 1, reason: 'provider-unavailable' }, 20)
    expect(tick(job, [nodeA], 2_019).assignments).toHaveLength(3)
    expect(tick(job, [], 2_020, [nodeA]).assignments).toHaveLength(3)
    const back = tick(job, [nodeA], 2_020)
    expect(newestOf(back)).toMatchObject({ seat: 0, node: nodeA, attempt: 2, fence: 4 })
    expect(newestOf(tick(job, [nodeA, nodeD], 2_020))?.node).toBe(nodeD)
  })

  it('go to the same node after a pause that grows with each attempt', () => {
    const returned = (job: Job, now: number) =>
      take(claimed(job, nodeA, now), abortBy(job, nodeA, 'provider-unavailable'), now)
    const once = returned(sampleJob(), 20)
    const twice = returned(tick(once, [nodeA], 2_020), 3_000)
    expect(tick(twice, [nodeA], 17_999).assignments).toHaveLength(4)
    expect(newestOf(tick(twice, [nodeA], 18_000))).toMatchObject({ node: nodeA, attempt: 3 })
  })

  const limitedFor = (retryAfter: number) => {
    const job = claimed(sampleJob({ members: [nodeA, nodeB, nodeC] }), nodeA, 10)
    const abort = { ...abortBy(job, nodeA, 'provider-rate-limited'), retryAfter } as const
    return take(job, abort, 20)
  }

  it('go to the same node no sooner than its provider lets it ask', () => {
    const limited = limitedFor(300)
    expect(tick(limited, [], 300_019).phase).toBe('running')
    expect(tick(limited, [nodeA], 300_019).assignments).toHaveLength(3)
    expect(newestOf(tick(limited, [nodeA], 300_020))).toMatchObject({ node: nodeA, attempt: 2 })
  })

  it('end the job at once when the provider lets no node ask before the deadline', () => {
    const ended = tick(limitedFor(600), [nodeA], 30)
    expect(ended).toMatchObject({ phase: 'expired', reason: 'list-used-up' })
    expect(viewJob(ended).quorum[0]).toMatchObject({ retry_after: 600 })
  })

  it('pass 64 members over at most', () => {
    const members = Array.from({ length: 80 }, (_, at) =>
      anAddress(`0x${`${at}`.padStart(40, '0')}`),
    )
    const job = sampleJob({ members })
    const states = members.map((_, at) => (at === 79 ? 'fit' : 'no-heartbeat'))
    const emptied = abort(job, members[0]!, 10)
    const filled = take(emptied, { type: 'tick', members: states }, 20)
    expect(filled.passed.map(({ position }) => position)).toEqual(
      Array.from({ length: 64 }, (_, at) => at + 3),
    )
  })

  it('end the job when one of them has no attempt left, whatever the others have', () => {
    let job = sampleJob()
    for (const node of [nodeA, nodeD, nodeE]) {
      job = tick(job, [node], 10)
      job = abort(job, node, 10)
    }
    const ended = tick(abort(job, nodeB, 10), [nodeAddress('f'), nodeAddress('1')], 20)
    expect(ended).toMatchObject({ phase: 'expired', reason: 'attempts-exhausted' })
  })

  it('are given up after three attempts', () => {
    let job = sampleJob()
    for (const [index, node] of [nodeA, nodeD, nodeE].entries()) {
      job = abort(job, node, index)
      const next = [nodeD, nodeE, nodeAddress('7')][index]!
      job = tick(job, [next], index)
    }
    expect([job.phase, job.reason]).toEqual(['expired', 'attempts-exhausted'])
  })

  it('are given up when a node leaves and comes back for ever', () => {
    let job = sampleJob({ members: [nodeA, nodeB, nodeC], deadline: 10_000_000 })
    for (let now = 0; job.phase === 'open'; now += 10_000) {
      job = take(job, { type: 'find-gone', node: nodeA, fence: fenceOf(job, nodeA) }, now)
      job = tick(job, [nodeA], now + 5_000)
    }
    expect([job.reason, job.assignments.length]).toEqual(['attempts-exhausted', 64])
  })

  it('end the job at once when no member of its list is left that could take one', () => {
    const three = sampleJob({ members: [nodeA, nodeB, nodeC] })
    const ended = tick(abort(three, nodeA, 10), [nodeA, nodeB, nodeC], 20)
    expect(ended).toMatchObject({ phase: 'expired', reason: 'list-used-up', settledAt: 20 })
    // One that never had a seat may still come, whatever keeps it away.
    const four = abort(sampleJob({ members: [nodeA, nodeB, nodeC, nodeD] }), nodeA, 10)
    expect(tick(four, [], 400_000)).toMatchObject({ phase: 'open', reason: 'not-enough-nodes' })
    expect(tick(abort(four, nodeB, 30), [nodeD], 40).reason).toBe('list-used-up')
  })

  it('wait for no member that has withdrawn the model until after the deadline', () => {
    const four = abort(sampleJob({ members: [nodeA, nodeB, nodeC, nodeD] }), nodeA, 10)
    const members = ['no-model', 'fit', 'fit', 'withdrawn'] as const
    const ended = take(four, { type: 'tick', members }, 20)
    expect(ended).toMatchObject({ phase: 'expired', reason: 'list-used-up' })
    // Nor for one that had a seat.
    const three = sampleJob({ members: [nodeA, nodeB, nodeC] })
    const gone = take(three, { type: 'find-gone', node: nodeA, fence: fenceOf(three, nodeA) }, 10)
    const without = { type: 'tick', members: ['withdrawn', 'fit', 'fit'] } as const
    expect(take(gone, without, 2_000)).toMatchObject({ phase: 'expired', reason: 'list-used-up' })
    const more = sampleJob({ members: [nodeA, nodeB, nodeC, nodeD, nodeE] })
    const filled = take(abort(more, nodeA, 10), { type: 'tick', members: [...members, 'fit'] }, 20)
    expect(filled.passed).toMatchObject([{ position: 3, reason: 'no-model' }])
  })

  it('wait for a node that may return while it is there, or has been away for two minutes', () => {
    const job = take(
      claimed(sampleJob({ members: [nodeA, nodeB, nodeC] }), nodeA, 10),
      { type: 'abort', node: nodeA, fence: 1, reason: 'node-stopping' },
      20,
    )
    expect(tick(job, [], 120_019).phase).toBe('running')
    expect(tick(job, [], 120_020)).toMatchObject({ phase: 'expired', reason: 'list-used-up' })
    expect(tick(job, [], 560_000, [nodeA]).phase).toBe('running')
    expect(newestOf(tick(job, [nodeA], 560_000))).toMatchObject({ node: nodeA, attempt: 2 })
    // An outage of the ICL is no absence of the node.
    const outages = [{ from: 60_000, until: 130_000 }]
    const excused = take(job, { type: 'miss-time', outages }, 130_000)
    expect(tick(excused, [], 249_999).phase).toBe('running')
    expect(tick(excused, [], 250_000).reason).toBe('list-used-up')
  })

  it('wait two minutes for a node that may still open its commitment', () => {
    let job = sampleJob({ members: [nodeA, nodeB, nodeC] })
    for (const node of [nodeA, nodeB, nodeC]) {
      job = claimed(job, node, 10)
      job = take(job, commitBy(job, node, 'x'), 20)
    }
    job = take(job, revealBy(job, nodeA, 'x'), 30)
    job = take(job, revealBy(job, nodeB, 'x'), 30)
    const late = tick(job, [nodeA, nodeB], 20 + defaultJobLimits.revealMs)
    expect([late.phase, newestOf(late)?.reason]).toEqual(['running', 'never-revealed'])
    const soon = tick(late, [nodeA, nodeB], 140_000)
    expect(take(soon, revealBy(soon, nodeC, 'x'), 140_010).agreement?.group).toHaveLength(3)
    expect(tick(late, [nodeA, nodeB], 150_020)).toMatchObject({ reason: 'list-used-up' })
  })

  it('end the job when nobody else gets to read the prompt', () => {
    const filled = tick(abort(sampleJob(), nodeA, 10), [nodeD], 20)
    const command = { type: 'find-ended', node: nodeD, fence: 4 } as const
    const ended = take(filled, command, 30)
    expect([ended.phase, ended.reason]).toEqual(['expired', 'list-ended'])
    const offered = take(filled, { type: 'see-access', node: nodeD, fence: 4 }, 30)
    expect(take(offered, command, 40)).toBe(offered)
  })
})
