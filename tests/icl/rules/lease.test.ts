import { describe, expect, it } from 'vitest'
import { assignmentOf, type Job } from '../../../icl/rules/job.ts'
import type { Address } from '../../../lib/codecs.ts'
import {
  abortBy,
  commitBy,
  fenceOf,
  nodeA,
  nodeB,
  nodeC,
  nodeD,
  nodeE,
  revealed,
  sampleJob,
  take,
  tickWith,
} from './sample-job.ts'

const jobOf = (max_output_tokens: number) => sampleJob({ parameters: { max_output_tokens } })

function claimedAt(job: Job, node: Address, now: number, msPerToken?: number) {
  const about = { node, fence: fenceOf(job, node) }
  const offered = take(job, { type: 'see-access', ...about }, now)
  return take(offered, { type: 'claim', ...about, msPerToken }, now)
}

const leaseOf = (tokens: number, msPerToken?: number, now = 0) => {
  const deadline = assignmentOf(claimedAt(jobOf(tokens), nodeA, now, msPerToken), nodeA)?.deadline
  return (deadline! - now) / 1000
}

describe('a lease', () => {
  it('is twice the time of the longest answer and a minute, from two to seven minutes', () => {
    expect([leaseOf(1), leaseOf(1_024), leaseOf(2_048), leaseOf(8_192)]).toEqual([
      120, 182.88, 305.76, 420,
    ])
    expect([leaseOf(1_024, 20), leaseOf(1_024, 100), leaseOf(1, 10_000)]).toEqual([120, 264.8, 120])
    expect([leaseOf(8_192, 5), leaseOf(8_192, 10_000)]).toEqual([141.92, 420])
  })

  it('of a node that names a speed beyond the usual leaves the job time for another node', () => {
    const [slow, ...others] = [nodeA, nodeB, nodeC]
    const leased = others.reduce(
      (job, node) => claimedAt(job, node, 0, 60),
      claimedAt(jobOf(256), slow!, 0, 10_000),
    )
    const bound = others.reduce((job, node) => take(job, commitBy(job, node, 'x'), 95_000), leased)
    expect(take(bound, tickWith([nodeD]), 182_880).assignments).toHaveLength(4)
  })

  it('leaves their time to reveal, delivery and check, and late in a job as much as to the answer', () => {
    expect([leaseOf(8_192, 60, 100_000), leaseOf(1, 1, 350_000)]).toEqual([380, 120])
    expect([leaseOf(1, 1, 450_000), leaseOf(1, 1, 590_000)]).toEqual([75, 5])
  })

  it('is long enough for an answer that takes 150 s, whether or not its nodes have measured their speed', () => {
    for (const speed of [undefined, 145]) {
      const nodes = [nodeA, nodeB, nodeC]
      const leased = nodes.reduce((job, node) => claimedAt(job, node, 1_000, speed), jobOf(1_024))
      const late = take(leased, tickWith([nodeD]), 150_999)
      const bound = nodes.reduce((job, node) => take(job, commitBy(job, node, 'x'), 151_000), late)
      const answers = nodes.map((node) => [node, 'x'] as const)
      expect(revealed(bound, answers, 152_000).agreement?.group).toHaveLength(3)
    }
  })
})

describe('a seat that falls empty', () => {
  /** The job at `now`, whose first node, of this speed, has just given its seat back. */
  const emptied = (
    { tokens = 1_024, speed, now }: { tokens?: number; speed?: number; now: number },
    reason: 'provider-silent' | 'provider-unavailable' = 'provider-unavailable',
  ) => {
    const job = claimedAt(jobOf(tokens), nodeA, 0, speed)
    return take(take(job, abortBy(job, nodeA, reason), now), tickWith([nodeD]), now)
  }
  const isRefilled = (job: Job) => job.assignments.length === 4

  it('is filled while its answer may come in time, else the job ends at once', () => {
    expect(isRefilled(emptied({ now: 418_000 }))).toBe(true)
    expect(isRefilled(emptied({ now: 180_000 }, 'provider-silent'))).toBe(true)
    // While no node has named a speed, an answer counts as half of the shortest lease at most.
    expect(isRefilled(emptied({ now: 479_000, tokens: 8_192 }))).toBe(true)
    const late = { phase: 'expired', reason: 'deadline-passed', settledAt: 481_000 }
    expect(emptied({ now: 481_000 })).toMatchObject(late)
    expect(isRefilled(emptied({ now: 560_000, speed: 15 }))).toBe(true)
    expect(emptied({ now: 418_000, speed: 100 })).toMatchObject({ phase: 'expired' })
    expect(emptied({ now: 575_000, speed: 15 })).toMatchObject({ phase: 'expired' })
  })

  it('is not filled for a second paid try as long as the first, which was too slow', () => {
    expect(emptied({ tokens: 8_192, now: 418_000 }, 'provider-silent').phase).toBe('expired')
    expect(isRefilled(emptied({ tokens: 8_192, now: 60_000 }, 'provider-silent'))).toBe(true)
  })

  it('goes again to a node of three whose provider stalled, unless a try as long as that ends after the deadline', () => {
    const three = [nodeA, nodeB, nodeC]
    const leased = three.reduce(
      (job, node) => claimedAt(job, node, 0),
      sampleJob({ members: three, parameters: { max_output_tokens: 8_192 } }),
    )
    const bound = [nodeB, nodeC].reduce(
      (job, node) => take(job, commitBy(job, node, 'x'), 4_000),
      leased,
    )
    const next = [65_000, 419_000].map((now) => {
      const empty = take(bound, abortBy(bound, nodeA, 'provider-silent'), now)
      return take(empty, tickWith(three), now + 2_000)
    })
    expect(next.map(({ reason, assignments }) => [reason, assignments.length])).toEqual([
      [undefined, 4],
      ['list-used-up', 3],
    ])
  })

  it('is filled late when another answer of the job came fast', () => {
    const fast = claimedAt(claimedAt(jobOf(8_192), nodeA, 0), nodeB, 0)
    const bound = take(fast, commitBy(fast, nodeB, 'x'), 4_000)
    const empty = take(bound, abortBy(bound, nodeA, 'provider-silent'), 419_000)
    expect(isRefilled(take(empty, tickWith([nodeD]), 419_000))).toBe(true)
  })

  it('is not filled in the last seconds, however fast the other answer came', () => {
    const fast = claimedAt(claimedAt(jobOf(8_192), nodeA, 0), nodeB, 0)
    const empty = take(take(fast, commitBy(fast, nodeA, 'x'), 1), abortBy(fast, nodeB), 500_000)
    expect(isRefilled(take(empty, tickWith([nodeD]), 570_000))).toBe(true)
    expect(take(empty, tickWith([nodeD]), 571_000)).toMatchObject({ phase: 'expired' })
  })

  it('waits for the node that may still reveal, however late it is', () => {
    const leased = [nodeA, nodeB, nodeC].reduce((job, node) => claimedAt(job, node, 0), jobOf(1))
    const bound = [nodeA, nodeB, nodeC].reduce(
      (job, node) => take(job, commitBy(job, node, 'x'), 550_000),
      leased,
    )
    const open = revealed(
      bound,
      [
        [nodeA, 'x'],
        [nodeB, 'x'],
      ],
      551_000,
    )
    const late = take(open, tickWith([nodeD, nodeE]), 580_000)
    expect([late.phase, late.assignments.length, late.tickAt]).toEqual(['running', 3, 581_000])
    expect(revealed(late, [[nodeC, 'x']], 582_000).agreement?.group).toHaveLength(3)
  })
})
