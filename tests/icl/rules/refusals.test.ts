import { describe, expect, it } from 'vitest'
import type { NodeCommand } from '../../../icl/rules/commands.ts'
import { defaultJobLimits, type Job } from '../../../icl/rules/job.ts'
import { transition } from '../../../icl/rules/transition.ts'
import type { Address } from '../../../lib/codecs.ts'
import {
  abortBy,
  abortTurnBy,
  accepted,
  claimed,
  commitBy,
  committed,
  decidedJob,
  deliverBy,
  delivered,
  inTurn,
  nodeA,
  nodeB,
  nodeC,
  nodeD,
  revealBy,
  sampleJob,
  take,
  verdictBy,
} from './sample-job.ts'

const said = (job: Job, command: NodeCommand, now = 60) => {
  const next = transition(job, command, now, defaultJobLimits)
  return 'refused' in next ? [next.refused, next.detail] : 'taken'
}
const offered = (job: Job, node: Address) => take(job, { type: 'see-access', node, fence: 1 }, 5)

/** A job in which A and B have committed and C has only claimed. */
const underWay = () =>
  committed(
    claimed(sampleJob(), nodeC, 10),
    [
      [nodeA, 'x'],
      [nodeB, 'x'],
    ],
    10,
  )

describe('a node is told why', () => {
  it('it cannot claim what it was not offered, nor commit to what it has not claimed', () => {
    const job = sampleJob()
    expect(said(job, { type: 'claim', node: nodeA, fence: 1 })).toEqual([
      'not-claimed',
      'The assignment is awaiting-grant',
    ])
    expect(said(offered(job, nodeA), commitBy(job, nodeA, 'x'))).toEqual([
      'not-claimed',
      'The assignment is offered',
    ])
  })

  it('it cannot reveal without its commitment, before the others, or anything else', () => {
    const job = underWay()
    expect(said(job, revealBy(job, nodeC, 'x'))).toEqual([
      'not-committed',
      'The assignment is claimed',
    ])
    expect(said(job, revealBy(job, nodeB, 'x'))).toEqual([
      'too-early',
      'Not all nodes of the batch have committed',
    ])
    const bound = take(job, commitBy(job, nodeC, 'x'), 20)
    expect(said(bound, revealBy(bound, nodeB, 'y'))).toEqual([
      'commitment-mismatch',
      'Evidence and salt make another commitment',
    ])
    expect(said(bound, revealBy(bound, nodeB, 'x'))).toBe('taken')
  })

  it('it cannot deliver or check out of turn', () => {
    const job = decidedJob('x', 'x', 'x')
    const [first, second] = inTurn(job) as [Address, Address]
    expect(said(job, deliverBy(job, second))).toEqual([
      'not-your-turn',
      'Another node delivers, or nobody yet',
    ])
    const late = take(job, abortTurnBy(job, first), 20)
    expect(said(late, deliverBy(late, first))).toEqual([
      'not-your-turn',
      'The time to deliver is over',
    ])
    expect(said(job, verdictBy(job, second, 'match'))).toEqual([
      'too-early',
      'There is no delivery to check',
    ])
    const open = delivered(job, 20)
    expect(said(open, verdictBy(open, second, 'match', job.submissionHash))).toEqual([
      'statement-mismatch',
      'The verdict is on another delivery',
    ])
    expect(said(open, verdictBy(open, first, 'match'))).toEqual([
      'statement-mismatch',
      "The verdict does not name its node's answer",
    ])
    expect(said(underWay(), verdictBy(underWay(), nodeA, 'match'))).toEqual([
      'not-revealed',
      'The assignment is committed',
    ])
  })

  it('it cannot change what it has committed to, answered, delivered or found', () => {
    const job = underWay()
    expect(said(job, commitBy(job, nodeB, 'y'))).toEqual([
      'already-committed',
      'The assignment has another commitment',
    ])
    const agreed = decidedJob('x', 'x', 'x')
    expect(said(agreed, revealBy(agreed, nodeB, 'y'))).toEqual([
      'already-answered',
      'The node gave another answer for this fence before',
    ])
    const [first, second] = inTurn(agreed) as [Address, Address]
    const open = delivered(agreed, 20)
    const another = ['already-answered', 'The node gave another statement for this fence before']
    expect(said(open, deliverBy(open, first, 'other'))).toEqual(another)
    const once = take(open, verdictBy(open, second, 'match'), 30)
    expect(said(once, verdictBy(once, second, 'output-mismatch'))).toEqual(another)
  })

  it('it has no part, an old fence, or a job that is over', () => {
    const job = underWay()
    expect(said(job, { type: 'claim', node: nodeD, fence: 1 })).toEqual([
      'not-assigned',
      `Node ${nodeD} has no assignment in this job`,
    ])
    expect(said(job, { type: 'claim', node: nodeB, fence: 9 })).toEqual([
      'stale-fence',
      'Fence 9 is not the current 2',
    ])
    const over = take(job, { type: 'tick' }, job.deadline)
    expect(said(over, commitBy(over, nodeC, 'x'))).toEqual(['job-settled', 'The job is expired'])
    expect(said(over, commitBy(over, nodeA, 'x'))).toBe('taken')
    expect(said(job, commitBy(job, nodeC, 'x'), 600_000)).toEqual([
      'job-settled',
      'The job is past its deadline',
    ])
    const given = take(job, abortBy(job, nodeC), 50)
    expect(said(given, { type: 'claim', node: nodeC, fence: 3 })).toEqual([
      'stale-fence',
      'The assignment was given up: node-failed',
    ])
    const done = accepted(decidedJob('x', 'x', 'x'), 30)
    expect(transition(done, { type: 'cancel' }, 60, defaultJobLimits)).toEqual({
      refused: 'job-settled',
      detail: 'The job is already accepted',
    })
  })
})
