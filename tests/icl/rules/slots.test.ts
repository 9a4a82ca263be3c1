import { describe, expect, it } from 'vitest'
import { defaultJobLimits, type Job, roleOf } from '../../../icl/rules/job.ts'
import { assignmentAt } from '../../../icl/rules/seats.ts'
import { replicaFor } from '../../../icl/rules/share.ts'
import { needsMembers } from '../../../icl/rules/tick.ts'
import type { Address } from '../../../lib/codecs.ts'
import {
  fenceOf,
  nodeA,
  nodeAddress,
  nodeB,
  nodeC,
  nodeD,
  nodeE,
  sampleJob,
  scoresOf,
  take,
  tickWith,
} from './sample-job.ts'

const { slotWaitMs } = defaultJobLimits
const find = (
  job: Job,
  type: 'find-busy' | 'find-gone' | 'see-access',
  node: Address,
  at: number,
) => take(job, { type, node, fence: fenceOf(job, node) }, at)
const leaderOf = (job: Job) => assignmentAt(job, 0)!

describe('a node without a free slot', () => {
  const waiting = () => find(sampleJob(), 'find-busy', nodeA, 1_000)

  it('is waited for, and offered the work when it has one', () => {
    const job = waiting()
    expect([leaderOf(job).status, job.tickAt]).toEqual(['awaiting-grant', 1_000 + slotWaitMs])
    expect(find(job, 'find-busy', nodeA, 5_000)).toBe(job)
    const offered = find(job, 'see-access', nodeA, 6_000)
    expect([leaderOf(offered).status, leaderOf(offered).deadline]).toEqual([
      'offered',
      6_000 + defaultJobLimits.offerMs,
    ])
  })

  it('loses the seat after 20 s to one that has a place', () => {
    const job = waiting()
    expect(needsMembers(job, 1_000 + slotWaitMs)).toBe(true)
    const moved = take(job, tickWith([nodeD], [nodeA]), 1_000 + slotWaitMs)
    expect(moved.assignments[0]).toMatchObject({ status: 'aborted', reason: 'node-busy' })
    expect([leaderOf(moved).node, leaderOf(moved).attempt]).toEqual([nodeD, 1])
    expect(scoresOf(moved)).toEqual({ a: 'offer-lapsed' })
  })

  it('keeps the seat while nobody else has a place either', () => {
    const job = take(waiting(), tickWith([], [nodeA, nodeD]), 1_000 + slotWaitMs)
    expect(leaderOf(job)).toMatchObject({ node: nodeA, status: 'awaiting-grant' })
    expect(job.tickAt!).toBeGreaterThan(1_000 + slotWaitMs)
    const moved = take(job, tickWith([nodeD]), job.tickAt!)
    expect(leaderOf(moved).node).toBe(nodeD)
  })

  it('two that are full do not both move to the one place that is free', () => {
    let job = find(waiting(), 'find-busy', nodeB, 1_000)
    job = take(job, tickWith([nodeD], [nodeE]), 1_000 + slotWaitMs)
    expect([0, 1, 2].map((seat) => assignmentAt(job, seat))).toMatchObject([
      { node: nodeD, status: 'awaiting-grant' },
      { node: nodeB, status: 'awaiting-grant' },
      { node: nodeC, status: 'awaiting-grant' },
    ])
  })

  it('keeps the seat while an empty one needs the place that is free', () => {
    const job = find(waiting(), 'find-gone', nodeB, 1_000 + slotWaitMs)
    const moved = take(job, tickWith([nodeD], [nodeA]), 1_000 + slotWaitMs)
    expect([0, 1].map((seat) => assignmentAt(moved, seat))).toMatchObject([
      { node: nodeA, status: 'awaiting-grant' },
      { node: nodeD, status: 'awaiting-grant' },
    ])
  })

  it('is not an attempt: a job moves on as often as it takes', () => {
    let job = sampleJob()
    const nodes = ['d', 'e', 'f', '1', '2'].map(nodeAddress)
    let now = 0
    for (const node of nodes) {
      job = find(job, 'find-busy', leaderOf(job).node, now)
      now += slotWaitMs
      job = take(job, tickWith([node]), now)
      expect([leaderOf(job).node, leaderOf(job).attempt, job.phase]).toEqual([node, 1, 'open'])
    }
  })

  it('does not make the job wait for a grant that it has', () => {
    const missed = take(
      sampleJob(),
      { type: 'miss-access', node: nodeA, fence: fenceOf(sampleJob(), nodeA) },
      0,
    )
    let job = missed
    for (const node of [nodeB, nodeC]) job = find(job, 'see-access', node, 1)
    expect(job.reason).toBe('awaiting-grant')
    expect(find(job, 'find-busy', nodeA, 1).reason).toBeUndefined()
  })
})

it('a job that waits for a grant and for a node says which came first, once, until it has passed', () => {
  const miss = (job: Job, at: number) =>
    take(job, { type: 'miss-access', node: nodeA, fence: fenceOf(job, nodeA) }, at)
  const leave = (job: Job, at: number) => find(job, 'find-gone', nodeB, at)
  const lookOften = (first: Job) => {
    let job = first
    for (let at = 2_000; at < 30_000; at += 1_000) job = miss(take(job, tickWith([]), at), at)
    return job
  }

  const granting = lookOften(leave(miss(sampleJob(), 1), 2))
  expect(granting.reason).toBe('awaiting-grant')
  const seating = lookOften(take(leave(sampleJob(), 1), tickWith([]), 2))
  expect(seating.reason).toBe('not-enough-nodes')
  const saying = (job: Job, reason: string) => job.events.filter(({ type }) => type === reason)
  expect(saying(granting, 'awaiting-grant')).toHaveLength(1)
  expect(saying(seating, 'not-enough-nodes')).toHaveLength(1)
  expect(take(granting, tickWith([nodeD]), 30_000).reason).toBe('awaiting-grant')
  const left = [nodeB, nodeC].reduce(
    (job, node) => find(job, 'see-access', node, 2),
    find(miss(sampleJob(), 1), 'find-gone', nodeA, 2),
  )
  expect(take(left, tickWith([]), 3).reason).toBe('not-enough-nodes')
  const granted = find(granting, 'see-access', nodeA, 30_000)
  const others = find(granted, 'see-access', nodeC, 30_000)
  expect(take(others, tickWith([]), 31_000).reason).toBe('not-enough-nodes')
  const seated = take(seating, tickWith([nodeD]), 30_000)
  expect([seated.reason, miss(seated, 30_001).reason]).toEqual([undefined, 'awaiting-grant'])
})

describe('a node that has left before it was offered anything', () => {
  it('is replaced at once, by a verifier', () => {
    const job = find(sampleJob(), 'find-gone', nodeA, 1_000)
    expect(job.assignments[0]).toMatchObject({ status: 'aborted', reason: 'node-left' })
    expect(job.tickAt).toBe(1_000)
    const filled = take(job, tickWith([nodeD]), 1_000)
    expect([leaderOf(filled).node, leaderOf(filled).attempt]).toEqual([nodeD, 1])
    expect(roleOf(filled, leaderOf(filled))).toBe('verifier')
  })

  it.each([
    ['find-gone', 0],
    ['find-busy', slotWaitMs],
  ] as const)('is scored for it (%s) only as the leader, which would deliver', (type, ms) => {
    const scoreOf = (node: Address) =>
      Object.values(scoresOf(take(find(sampleJob(), type, node, 0), tickWith([nodeD]), ms)))
    expect([nodeA, nodeB].map(scoreOf)).toEqual([['offer-lapsed'], []])
    const passed = [{ position: 0, reason: 'busy' as const, at: 0 }]
    const busy = find({ ...sampleJob(), passed }, type, nodeA, 0)
    expect(scoresOf(take(busy, tickWith([nodeD]), ms))).toEqual({})
  })

  it('keeps what it was offered already', () => {
    const job = find(sampleJob(), 'see-access', nodeA, 0)
    expect(find(job, 'find-gone', nodeA, 1)).toBe(job)
  })
})

describe('work shared between replicas', () => {
  const works = Array.from({ length: 300 }, (_, index) => `job ${index}`)
  const shares = (replicas: readonly string[]) =>
    new Map(works.map((work) => [work, replicaFor(work, replicas)]))

  it('is for one of them, in any order of asking, and for each in turn', () => {
    const shared = shares(['a', 'b', 'c'])
    expect(shares(['c', 'a', 'b'])).toEqual(shared)
    for (const id of ['a', 'b', 'c']) {
      expect([...shared.values()].filter((one) => one === id).length).toBeGreaterThan(60)
    }
    expect(replicaFor('job', [])).toBeUndefined()
  })

  it('moves only from the replica that goes', () => {
    const [before, after] = [shares(['a', 'b', 'c']), shares(['a', 'c'])]
    for (const [work, id] of before) if (id !== 'b') expect(after.get(work)).toBe(id)
  })
})
