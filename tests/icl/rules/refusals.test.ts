import { describe, expect, it } from 'vitest'
import type { NodeCommand } from '../../../icl/rules/commands.ts'
import { defaultJobLimits, type Job } from '../../../icl/rules/job.ts'
import { transition } from '../../../icl/rules/transition.ts'
import type { Address } from '../../../lib/codecs.ts'
import { aHash } from '../../branded.ts'
import {
  answered,
  claimed,
  commitmentTo,
  committed,
  fenceOf,
  nodeA,
  nodeB,
  nodeC,
  nodeD,
  resultOf,
  reveal,
  sampleJob,
  take,
  verdictOf,
} from './sample-job.ts'

const said = (job: Job, command: NodeCommand, now = 60) => {
  const next = transition(job, command, now, defaultJobLimits)
  return 'refused' in next ? [next.refused, next.detail] : 'taken'
}
const wanted = (code: string, detail: string) => [code, detail]

const post = (job: Job, node: Address, answer = 'x'): NodeCommand => {
  const fence = fenceOf(job, node)
  return { type: 'post-result', node, fence, result: resultOf(node, fence, answer) }
}
const commit = (job: Job, node: Address, answer = 'x'): NodeCommand => {
  const fence = fenceOf(job, node)
  return { type: 'commit', node, fence, commitment: commitmentTo(node, fence, answer) }
}
const vote = (job: Job, node: Address, leaderHash = job.result?.hash): NodeCommand => {
  const fence = fenceOf(job, node)
  const hash = leaderHash ?? `0x${'0'.repeat(64)}`
  return {
    type: 'post-verdict',
    node,
    fence,
    verdict: verdictOf(node, fence, 'x', aHash(hash), 'match'),
    commitment: commitmentTo(node, fence, 'x'),
  }
}
const offered = (job: Job, node: Address) =>
  take(job, { type: 'see-access', node, fence: fenceOf(job, node) }, 5)

/** A job in which B has committed and C has only claimed, without a result. */
const underWay = () => {
  let job = sampleJob()
  for (const node of [nodeA, nodeB, nodeC]) job = claimed(job, node, 10)
  return committed(job, nodeB, 'x', 20)
}

describe('a node is told why', () => {
  it('it cannot claim what it was not offered', () => {
    const job = sampleJob()
    expect(said(job, { type: 'claim', node: nodeA, fence: 1 })).toEqual(
      wanted('not-claimed', 'The assignment is awaiting-grant'),
    )
  })

  it('it cannot do the work of the other role', () => {
    const job = answered(underWay(), nodeA, 'x', 30)
    expect(said(job, post(job, nodeB))).toEqual(wanted('wrong-role', 'Only a leader posts results'))
    expect(said(job, commit(job, nodeA))).toEqual(wanted('wrong-role', 'Only a verifier commits'))
    expect(said(job, vote(job, nodeA))).toEqual(wanted('wrong-role', 'Only a verifier votes'))
  })

  it('it cannot answer before it has claimed', () => {
    const job = offered(offered(sampleJob(), nodeA), nodeB)
    const detail = 'The assignment is offered'
    expect(said(job, post(job, nodeA))).toEqual(wanted('not-claimed', detail))
    expect(said(job, commit(job, nodeB))).toEqual(wanted('not-claimed', detail))
    expect(said(job, vote(job, nodeB))).toEqual(wanted('not-committed', detail))
  })

  it('it cannot vote without its commitment, without a result, or on another statement', () => {
    const job = underWay()
    expect(said(job, vote(job, nodeC))).toEqual(
      wanted('not-committed', 'The assignment is claimed'),
    )
    expect(said(job, vote(job, nodeB))).toEqual(
      wanted('no-result-yet', 'There is nothing to compare with'),
    )
    const done = answered(job, nodeA, 'x', 30)
    expect(said(done, vote(done, nodeB, aHash(`0x${'9'.repeat(64)}`)))).toEqual(
      wanted('statement-mismatch', 'Another leader statement was compared with'),
    )
    expect(said(done, reveal(done, nodeB, 'y') as NodeCommand)).toEqual(
      wanted('commitment-mismatch', 'Evidence and salt make another commitment'),
    )
    expect(said(done, vote(done, nodeB))).toBe('taken')
  })

  it('it cannot change what it has committed to or answered', () => {
    const job = underWay()
    expect(said(job, commit(job, nodeB, 'y'))).toEqual(
      wanted('already-committed', 'The assignment has another commitment'),
    )
    expect(said(job, commit(job, nodeB))).toBe('taken')
    const done = answered(job, nodeA, 'x', 30)
    expect(said(done, post(done, nodeA, 'y'))).toEqual(
      wanted('already-answered', 'The leader gave another answer for this fence before'),
    )
    const voted = take(done, vote(done, nodeB), 40)
    const fence = fenceOf(voted, nodeB)
    const other = verdictOf(nodeB, fence, 'x', done.result!.hash, 'output-mismatch')
    const commitment = commitmentTo(nodeB, fence, 'x')
    const again = { type: 'post-verdict', node: nodeB, fence, verdict: other, commitment } as const
    expect(said(voted, again)).toEqual(
      wanted('already-answered', 'The verifier gave another answer for this fence before'),
    )
    const next = transition(voted, again, 60, defaultJobLimits)
    const noted = 'refused' in next ? next.noted?.job.faults : undefined
    expect(noted?.[0]?.statements?.map(({ hash }) => hash)).toEqual([
      voted.assignments.find((assignment) => assignment.fence === fence)?.verdict?.hash,
      other.hash,
    ])
  })

  it('it has no part, an old fence, or a job that is over', () => {
    const job = underWay()
    expect(said(job, { type: 'claim', node: nodeD, fence: 1 })).toEqual(
      wanted('not-assigned', `Node ${nodeD} has no assignment in this job`),
    )
    expect(said(job, { type: 'claim', node: nodeB, fence: 9 })).toEqual(
      wanted('stale-fence', 'Fence 9 is not the current 2'),
    )
    const over = take(job, { type: 'cancel' }, 50)
    expect(said(over, commit(over, nodeC))).toEqual(
      wanted('job-settled', 'The job is already cancelled'),
    )
    expect(said(job, commit(job, nodeC), 600_000)).toEqual(
      wanted('job-settled', 'The job has passed its deadline'),
    )
    const given = take(job, { type: 'abort', node: nodeC, fence: 3, reason: 'node-failed' }, 50)
    expect(said(given, { type: 'claim', node: nodeC, fence: 3 })).toEqual(
      wanted('stale-fence', 'The assignment was given up: node-failed'),
    )
    const settled = transition(over, { type: 'cancel' }, 60, defaultJobLimits)
    expect(settled).toEqual({ job: over, effects: [] })
    let accepted = committed(answered(job, nodeA, 'x', 30), nodeC, 'x', 30)
    for (const node of [nodeB, nodeC]) accepted = take(accepted, reveal(accepted, node, 'x'), 40)
    expect(transition(accepted, { type: 'cancel' }, 60, defaultJobLimits)).toEqual({
      refused: 'job-settled',
      detail: 'The job is already accepted',
    })
  })
})
