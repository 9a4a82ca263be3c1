import { describe, expect, it } from 'vitest'
import type { Command } from '../../../icl/rules/commands.ts'
import { assignmentOf, defaultJobLimits, type Job } from '../../../icl/rules/job.ts'
import { transition } from '../../../icl/rules/transition.ts'
import {
  abortBy,
  claimed,
  commitmentTo,
  decidedJob,
  nodeA,
  nodeB,
  nodeC,
  sampleJob,
  take,
} from './sample-job.ts'

/** Applies a command that asks nothing of the world outside. */
function quietly(job: Job, command: Command, now: number): Job {
  const next = transition(job, command, now, defaultJobLimits)
  if ('refused' in next) throw new Error(next.detail)
  expect(next.effects).toEqual([])
  return next.job
}

const everyFinding = [
  'see-access',
  'miss-access',
  'refuse-access',
  'find-busy',
  'find-gone',
] as const

describe('an assignment', () => {
  it('is offered, claimed and committed to without anything done outside', () => {
    let job = quietly(sampleJob(), { type: 'see-access', node: nodeB, fence: 2 }, 10)
    expect(assignmentOf(job, nodeB)).toMatchObject({ status: 'offered', deadline: 20_010 })
    expect(job.phase).toBe('open')
    job = quietly(job, { type: 'claim', node: nodeB, fence: 2, msPerToken: 1 }, 20)
    expect(assignmentOf(job, nodeB)).toMatchObject({ status: 'claimed', deadline: 120_020 })
    expect(job.phase).toBe('running')
    const commitment = commitmentTo(nodeB, 2, 'x')
    job = quietly(job, { type: 'commit', node: nodeB, fence: 2, commitment }, 30)
    const assignment = assignmentOf(job, nodeB)
    expect(assignment).toMatchObject({ status: 'committed', commitment })
    expect(assignment?.deadline).toBeUndefined()
    expect(take(job, { type: 'claim', node: nodeB, fence: 2, msPerToken: 1 }, 40)).toBe(job)
    for (const type of everyFinding) {
      expect(take(job, { type, node: nodeB, fence: 2 }, 40)).toBe(job)
    }
  })

  it('that is claimed again has the lease that it had', () => {
    const claim = { type: 'claim', node: nodeB, fence: 2, msPerToken: 1 } as const
    const offered = quietly(sampleJob(), { type: 'see-access', node: nodeB, fence: 2 }, 10)
    const leased = quietly(offered, claim, 20)
    expect(assignmentOf(leased, nodeB)).toMatchObject({ status: 'claimed', deadline: 120_020 })
    expect(take(leased, { ...claim, msPerToken: 900 }, 30)).toBe(leased)
    const commitment = commitmentTo(nodeB, 2, 'x')
    const committed = quietly(leased, { type: 'commit', node: nodeB, fence: 2, commitment }, 30)
    expect(take(committed, claim, 40)).toBe(committed)
  })

  it('cannot be given back once it is answered, and costs nothing before it is committed to', () => {
    let job = sampleJob()
    for (const node of [nodeA, nodeB, nodeC]) job = claimed(job, node, 10)
    const given = quietly(job, abortBy(job, nodeC), 50)
    expect(assignmentOf(given, nodeC)).toMatchObject({ status: 'aborted', reason: 'node-failed' })
    const agreed = decidedJob('x', 'x', 'y')
    for (const node of [nodeA, nodeB, nodeC]) {
      expect(take(agreed, abortBy(agreed, node), 50)).toBe(agreed)
    }
  })

  it('that a node gets access to does not hide why the job waits otherwise', () => {
    const job: Job = { ...sampleJob(), reason: 'not-enough-nodes' }
    const offered = take(job, { type: 'see-access', node: nodeB, fence: 2 }, 10)
    expect(offered.reason).toBe('not-enough-nodes')
    let waiting = take(sampleJob(), { type: 'miss-access', node: nodeB, fence: 2 }, 10)
    waiting = take(waiting, { type: 'see-access', node: nodeA, fence: 1 }, 20)
    waiting = take(waiting, { type: 'see-access', node: nodeB, fence: 2 }, 20)
    expect(waiting.reason).toBe('awaiting-grant')
    expect(take(waiting, { type: 'see-access', node: nodeC, fence: 3 }, 20).reason).toBeUndefined()
  })
})
