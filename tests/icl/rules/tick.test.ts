import { describe, expect, it } from 'vitest'
import type { SeatFill } from '../../../icl/rules/commands.ts'
import { defaultJobLimits, type Job } from '../../../icl/rules/job.ts'
import { countSeatsToFill, freshNodes, needsPool } from '../../../icl/rules/tick.ts'
import { transition } from '../../../icl/rules/transition.ts'
import {
  candidates,
  claimed,
  commitmentTo,
  fenceOf,
  nodeA,
  nodeAddress,
  nodeB,
  nodeC,
  nodeD,
  nodeE,
  resultOf,
  sampleJob,
  seed,
  take,
} from './sample-job.ts'

const abort = (job: Job, node: typeof nodeA, now: number) =>
  take(job, { type: 'abort', node, fence: fenceOf(job, node), reason: 'node-failed' }, now)
const tick = (job: Job, fill: SeatFill | undefined, now: number) =>
  take(job, { type: 'tick', ...(fill && { fill }) }, now)

describe('a pool is needed', () => {
  it('when a seat is empty and it is time, or a deadline has passed; not once the job is over', () => {
    const job = sampleJob()
    expect(needsPool(job, 100)).toBe(false)
    const empty = abort(job, nodeA, 100)
    expect([needsPool(empty, 99), needsPool(empty, 100)]).toEqual([false, true])
    expect(needsPool(empty, 600_000)).toBe(false)
    expect(needsPool(take(empty, { type: 'cancel' }, 100), 100)).toBe(false)
    const leased = claimed(job, nodeA, 10)
    const end = 10 + defaultJobLimits.leaseMs
    expect([needsPool(leased, end - 1), needsPool(leased, end)]).toEqual([false, true])
    expect(countSeatsToFill(leased, candidates(nodeD), end)).toBe(1)
    expect(countSeatsToFill(leased, candidates(nodeD), end - 1)).toBe(0)
  })

  it('has neither the client nor anybody who took part to choose from', () => {
    const job = sampleJob()
    const pool = candidates(job.client, nodeA, nodeB, nodeC, nodeD, nodeE)
    expect(freshNodes(job, pool).map(({ address }) => address)).toEqual([nodeD, nodeE])
  })
})

describe('a cause that lies in the job', () => {
  const giveBack = (job: Job, node: typeof nodeA, reason: 'provider-refused' | 'node-failed') =>
    take(job, { type: 'abort', node, fence: fenceOf(job, node), reason }, 10)
  const fill = { pool: candidates(nodeD, nodeE), seed }

  it('named by a whole quorum ends the job: no more nodes are paid in vain', () => {
    const once = giveBack(sampleJob(), nodeA, 'provider-refused')
    const twice = giveBack(once, nodeB, 'provider-refused')
    for (const job of [once, twice]) expect(tick(job, fill, 20).phase).toBe('open')
    const all = giveBack(twice, nodeC, 'provider-refused')
    expect(tick(all, fill, 20)).toMatchObject({ phase: 'expired', reason: 'attempts-exhausted' })
  })

  it('ends nothing while another node could do it, and a cause of the node never does', () => {
    const claimedC = claimed(sampleJob(), nodeC, 5)
    const fence = fenceOf(claimedC, nodeC)
    const commitment = commitmentTo(nodeC, fence, 'yes')
    const could = take(claimedC, { type: 'commit', node: nodeC, fence, commitment }, 6)
    const twice = giveBack(giveBack(could, nodeA, 'provider-refused'), nodeB, 'provider-refused')
    expect(tick(twice, fill, 20).phase).toBe('running')
    const failed = giveBack(giveBack(sampleJob(), nodeA, 'node-failed'), nodeB, 'node-failed')
    expect(tick(failed, fill, 20).phase).toBe('open')
  })
})

describe('empty seats', () => {
  it('wait for a seed that was signed for as many as there are', () => {
    const job = abort(abort(sampleJob(), nodeA, 10), nodeB, 10)
    const fill = { pool: candidates(nodeD, nodeE), seed }
    const waiting = tick(job, { ...fill, count: 1 }, 20)
    expect(waiting.assignments).toEqual(job.assignments)
    expect([waiting.fillAt, waiting.tickAt]).toEqual([20, 20])
    const filled = tick(job, { ...fill, count: 2 }, 20)
    expect(filled.assignments.slice(3).map(({ seat, role, node }) => [seat, role, node])).toEqual([
      [0, 'leader', filled.draws[1]?.chosen[0]],
      [1, 'verifier', filled.draws[1]?.chosen[1]],
    ])
  })

  it('are drawn for once, and the draw says where its pool is kept', () => {
    const job = abort(sampleJob(), nodeA, 10)
    const fill = { pool: candidates(nodeD), seed }
    expect(tick(job, fill, 20).draws[1]).not.toHaveProperty('poolCid')
    expect(tick(job, { ...fill, poolCid: 'cid' }, 20).draws[1]).toMatchObject({
      message: seed.message,
      chosen: [nodeD],
      poolCid: 'cid',
    })
    expect(tick(job, { pool: [], seed }, 20).draws).toHaveLength(1)
  })

  it('go to the same node only when nobody else is left, it is free, and some seconds have passed', () => {
    let job = claimed(sampleJob(), nodeA, 10)
    job = take(job, { type: 'abort', node: nodeA, fence: 1, reason: 'provider-unavailable' }, 20)
    const alone = { pool: candidates(nodeA), seed }
    const busy = { pool: candidates(nodeA).map((one) => ({ ...one, busy: true })), seed }
    expect(tick(job, alone, 2_019).assignments).toHaveLength(3)
    expect(tick(job, busy, 2_020).assignments).toHaveLength(3)
    const back = tick(job, alone, 2_020)
    expect(back.assignments.at(-1)).toMatchObject({ seat: 0, node: nodeA, attempt: 2, fence: 4 })
    const other = tick(job, { pool: candidates(nodeA, nodeD), seed }, 2_020)
    expect(other.assignments.at(-1)?.node).toBe(nodeD)
  })

  it('are given up after three attempts', () => {
    let job = sampleJob()
    for (const [index, node] of [nodeA, nodeD, nodeE].entries()) {
      job = abort(job, node, index)
      const next = [nodeD, nodeE, nodeAddress('7')][index]!
      job = tick(job, { pool: candidates(next), seed }, index)
    }
    expect([job.phase, job.reason]).toEqual(['expired', 'attempts-exhausted'])
  })
})

describe('an answer after the lease', () => {
  it('is of no use, but shows once that its node was at work', () => {
    let job = claimed(claimed(sampleJob(), nodeA, 10), nodeB, 10)
    const late = 10 + defaultJobLimits.leaseMs
    job = tick(job, undefined, late)
    const commands = [
      { type: 'post-result', node: nodeA, fence: 1, result: resultOf(nodeA, 1, 'x') },
      { type: 'commit', node: nodeB, fence: 2, commitment: commitmentTo(nodeB, 2, 'x') },
    ] as const
    for (const command of commands) {
      const next = transition(job, command, late + 1, defaultJobLimits)
      if (!('refused' in next) || !next.noted) throw new Error('nothing was noted')
      const { node, fence } = command
      expect(next.refused).toBe('stale-fence')
      expect(next.noted.effects).toEqual([
        { type: 'score-node', node, fence, code: 'answered-late' },
      ])
      const again = transition(next.noted.job, command, late + 2, defaultJobLimits)
      expect('refused' in again && again.noted).toBeFalsy()
    }
    const claim = transition(job, { type: 'claim', node: nodeB, fence: 2 }, late, defaultJobLimits)
    expect('refused' in claim && claim.noted).toBeFalsy()
  })
})
