import { describe, expect, it } from 'vitest'
import { defaultJobLimits } from '../../../icl/rules/job.ts'
import { currentAssignments } from '../../../icl/rules/seats.ts'
import {
  abortBy,
  accepted,
  claimed,
  commitBy,
  committed,
  decidedJob,
  nodeA,
  nodeAddress,
  nodeB,
  nodeC,
  nodeD,
  nodeE,
  refusalOf,
  sampleJob,
  take,
  tickWith,
} from './sample-job.ts'

describe('the usual course of a job', () => {
  it('is accepted when all answers match and the others bear the delivery out', () => {
    const job = decidedJob('x', 'x', 'x')
    expect(job.phase).toBe('running')
    const done = accepted(job, 40)
    expect([done.phase, done.reason, done.tickAt]).toEqual(['accepted', 'quorum-agreed', undefined])
    expect(done.outbox.map(({ effect }) => effect.type)).toContain('commit-result')
  })

  it('offers nothing before the chain shows access', () => {
    const job = sampleJob()
    expect(currentAssignments(job).map(({ status }) => status)).toEqual(
      Array(3).fill('awaiting-grant'),
    )
    expect(refusalOf(job, { type: 'claim', node: nodeA, fence: 1 }, 5)).toBe('not-claimed')
    const missing = take(job, { type: 'miss-access', node: nodeA, fence: 1 }, 5)
    expect(missing.reason).toBe('awaiting-grant')
    const seen = take(missing, { type: 'see-access', node: nodeA, fence: 1 }, 6)
    expect(seen.assignments[0]?.status).toBe('offered')
  })

  it('leases a claim and lets it be claimed again by the same node', () => {
    const job = claimed(sampleJob(), nodeA, 10)
    expect(job.assignments[0]?.deadline).toBe(10 + defaultJobLimits.leaseMs)
    expect(take(job, { type: 'claim', node: nodeA, fence: 1 }, 50)).toBe(job)
  })
})

describe('deadlines', () => {
  it('give an unclaimed offer to another node after 20 s', () => {
    const offered = take(sampleJob(), { type: 'see-access', node: nodeA, fence: 1 }, 10)
    expect(offered.tickAt).toBe(20_010)
    const next = take(offered, tickWith([nodeD]), 20_010)
    expect(next.assignments[0]).toMatchObject({ status: 'lapsed', reason: 'offer-lapsed' })
    expect(next.assignments.at(-1)).toMatchObject({ node: nodeD, seat: 0, fence: 4 })
    expect(refusalOf(next, { type: 'claim', node: nodeA, fence: 1 }, 20_020)).toBe('stale-fence')
  })

  it('replace a node whose lease lapsed, and keep what the others committed to', () => {
    const both = [
      [nodeB, 'x'],
      [nodeC, 'x'],
    ] as const
    const leased = committed(claimed(sampleJob(), nodeA, 10), both, 10)
    const job = take(leased, tickWith([nodeD]), 10 + 120_000)
    expect(job.assignments[0]).toMatchObject({ status: 'lapsed', reason: 'lease-lapsed' })
    expect(job.assignments.slice(1, 3).map(({ status }) => status)).toEqual([
      'committed',
      'committed',
    ])
    expect(refusalOf(job, commitBy(job, nodeA, 'x'), 130_020)).toBe('stale-fence')
    const whole = committed(job, [[nodeD, 'x']], 130_030)
    for (const node of [nodeB, nodeC, nodeD]) {
      expect(whole.assignments.find((one) => one.node === node)?.deadline).toBe(
        130_030 + defaultJobLimits.revealMs,
      )
    }
  })

  it('expire a job with its reason, and nothing changes it afterwards', () => {
    const waiting = take(sampleJob(), { type: 'miss-access', node: nodeA, fence: 1 }, 5)
    const job = take(waiting, { type: 'tick' }, 600_000)
    expect([job.phase, job.reason]).toEqual(['expired', 'awaiting-grant'])
    expect(refusalOf(job, { type: 'claim', node: nodeA, fence: 1 }, 600_001)).toBe('job-settled')
    expect(take(job, { type: 'tick' }, 700_000)).toBe(job)
  })

  it('end a seat after three attempts', () => {
    let job = sampleJob()
    let now = 0
    for (const spare of [nodeD, nodeE, nodeAddress('f')]) {
      const { node } = currentAssignments(job)[0]!
      job = take(job, abortBy(job, node), ++now)
      job = take(job, tickWith([spare]), ++now)
    }
    expect([job.phase, job.reason]).toEqual(['expired', 'attempts-exhausted'])
  })
})

describe('giving an assignment back', () => {
  it('lets the same node return when nobody else is left and the reason may pass', () => {
    const job = claimed(sampleJob(), nodeA, 10)
    const abort = abortBy(job, nodeA, 'provider-rate-limited')
    const aborted = take(job, abort, 20)
    expect(take(aborted, abort, 21)).toBe(aborted)
    const soon = take(aborted, tickWith([nodeA]), 30)
    expect(currentAssignments(soon)[0]?.status).toBe('aborted')
    const later = take(soon, tickWith([nodeA]), 3_000)
    expect(currentAssignments(later)[0]).toMatchObject({ node: nodeA, fence: 4, attempt: 2 })
  })

  it('does not let it return for a reason that stays', () => {
    const job = claimed(sampleJob(), nodeA, 10)
    const aborted = take(job, abortBy(job, nodeA, 'provider-key-refused'), 20)
    const later = take(aborted, tickWith([nodeA]), 10_000)
    expect([currentAssignments(later)[0]?.status, later.reason]).toEqual([
      'aborted',
      'not-enough-nodes',
    ])
  })
})

it('a seat whose node the chain refuses goes to another', () => {
  const job = sampleJob()
  const refused = take(job, { type: 'refuse-access', node: nodeA, fence: 1 }, 5)
  expect(refused.assignments[0]).toMatchObject({ status: 'aborted', reason: 'grant-refused' })
  expect(take(refused, tickWith([nodeD]), 6).assignments.at(-1)).toMatchObject({
    node: nodeD,
    seat: 0,
  })
})

it('a stranger has no part', () => {
  const job = claimed(claimed(sampleJob(), nodeA, 10), nodeB, 10)
  expect(refusalOf(job, { type: 'claim', node: nodeE, fence: 1 }, 20)).toBe('not-assigned')
})
