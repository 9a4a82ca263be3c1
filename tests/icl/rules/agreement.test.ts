import { describe, expect, it } from 'vitest'
import { assignmentOf, defaultJobLimits, type Job } from '../../../icl/rules/job.ts'
import { currentAssignments } from '../../../icl/rules/seats.ts'
import type { Address } from '../../../lib/codecs.ts'
import {
  answered,
  committed,
  decidedJob,
  inTurn,
  nodeA,
  nodeAddress,
  nodeB,
  nodeC,
  nodeD,
  nodeE,
  revealed,
  sampleJob,
  scoresOf,
  take,
  tickWith,
} from './sample-job.ts'

const nodeF = nodeAddress('f')
const spares = [nodeD, nodeE, nodeF, nodeAddress('1')]
const threeNodes = { members: [nodeA, nodeB, nodeC] }
const groupOf = ({ agreement, assignments }: Job): readonly (Address | undefined)[] | undefined =>
  agreement?.group.map((fence) => assignments.find((one) => one.fence === fence)?.node)

/** The job once the seats that it has added have these answers. */
function joined(job: Job, ...answers: readonly string[]): Job {
  const seated = take(job, tickWith(spares), 100)
  const joiners = currentAssignments(seated).slice(-answers.length)
  return answered(
    seated,
    joiners.map(({ node }, at) => [node, answers[at]!] as const),
    200,
  )
}

describe('answers that match one another', () => {
  it('are delivered by their nodes, in the order of the list', () => {
    const job = decidedJob('x', 'x', 'x')
    expect(groupOf(job)).toEqual([nodeA, nodeB, nodeC])
    expect(inTurn(job)).toEqual([nodeA, nodeB, nodeC])
    expect(job.agreement?.turns).toMatchObject([{ deadline: 10 + defaultJobLimits.deliverMs }])
    expect(job.tickAt).toBe(10 + defaultJobLimits.deliverMs)
    expect([job.phase, job.seats]).toEqual(['running', 3])
  })

  it('are two of three under any-two, and in a pool of three', () => {
    expect(
      groupOf(decidedJob('x', 'y', 'x', { terms: { rule: 'any-two', max_answers: 5 } })),
    ).toEqual([nodeA, nodeC])
    expect(groupOf(decidedJob('x', 'y', 'x', threeNodes))).toEqual([nodeA, nodeC])
  })

  it('are as many as the client asked for', () => {
    const terms = { rule: 'any-two', max_answers: 5, min_matches: 2 } as const
    expect(decidedJob('x', 'x', 'y', { terms }).seats).toEqual(4)
  })
})

describe('answers that do not agree', () => {
  it('get as many more as the largest group lacks, from the list in its order', () => {
    const two = decidedJob('x', 'x', 'y')
    expect([two.seats, two.fillAt, two.agreement]).toEqual([4, 10, undefined])
    const none = decidedJob('x', 'y', 'z')
    expect(none.seats).toBe(5)
    const seated = take(none, tickWith(spares), 100)
    expect(currentAssignments(seated).slice(3)).toMatchObject([
      { seat: 3, position: 3, node: nodeD },
      { seat: 4, position: 4, node: nodeE },
    ])
  })

  it('wait for all of a batch before one more is asked', () => {
    let job = take(decidedJob('x', 'y', 'z'), tickWith(spares), 100)
    job = committed(
      job,
      [
        [nodeD, 'x'],
        [nodeE, 'x'],
      ],
      200,
    )
    job = revealed(job, [[nodeD, 'x']], 210)
    expect([job.agreement, job.seats]).toEqual([undefined, 5])
    job = revealed(job, [[nodeE, 'x']], 220)
    expect(groupOf(job)).toEqual([nodeA, nodeD, nodeE])
    expect(inTurn(job)).toEqual([nodeD, nodeE, nodeA])
  })

  it('may be joined by one that completes a group', () => {
    const job = joined(decidedJob('x', 'x', 'y'), 'x')
    expect(groupOf(job)).toEqual([nodeA, nodeB, nodeD])
  })

  it('are a dispute when no more can make a group large enough', () => {
    const more = joined(joined(decidedJob('x', 'x', 'y'), 'y'), 'z')
    expect([more.seats, more.phase]).toEqual([6, 'running'])
    const seven = joined(joined(more, 'w'), 'v')
    expect([seven.phase, seven.reason]).toEqual(['disputed', 'quorum-disagreed'])
    expect(new Set(Object.values(scoresOf(seven)))).toEqual(new Set(['answer-undecided']))
    expect(decidedJob('x', 'y', 'z', threeNodes)).toMatchObject({
      phase: 'disputed',
      tickAt: undefined,
    })
  })

  it('are a dispute when nobody is left to ask, and wait for a busy node', () => {
    const job = decidedJob('x', 'x', 'y')
    expect(take(job, tickWith([nodeA, nodeB, nodeC]), 60)).toMatchObject({
      phase: 'disputed',
      reason: 'quorum-disagreed',
    })
    const waiting = take(job, tickWith([], [nodeD]), 60)
    expect([waiting.phase, waiting.reason, waiting.fillAt]).toEqual([
      'running',
      'not-enough-nodes',
      60 + defaultJobLimits.refillMs,
    ])
  })

  it('are a dispute when fewer are left than are missing, with any nodes at work', () => {
    const job = decidedJob('x', 'y', 'z')
    expect(take(job, tickWith([nodeD]), 60)).toMatchObject({ phase: 'disputed', nextFence: 4 })
    const both = take(job, tickWith([nodeD, nodeE]), 60)
    expect([both.phase, both.assignments.length]).toEqual(['running', 5])
    const command = { type: 'abort', node: nodeE, fence: 5, reason: 'node-failed' } as const
    expect(take(take(both, command, 70), tickWith([]), 80)).toMatchObject({ phase: 'disputed' })
  })

  it('give a seat that falls empty to the next', () => {
    let job = take(decidedJob('x', 'x', 'y'), tickWith(spares), 100)
    job = take(job, { type: 'abort', node: nodeD, fence: 4, reason: 'node-failed' }, 110)
    job = take(job, tickWith([nodeE]), 120)
    expect(assignmentOf(job, nodeE)).toMatchObject({ seat: 3, attempt: 2 })
    expect(groupOf(answered(job, [[nodeE, 'x']], 200))).toEqual([nodeA, nodeB, nodeE])
  })
})

it('nothing is decided before every seat of the quorum has answered', () => {
  const job = committed(
    sampleJob(),
    [
      [nodeA, 'x'],
      [nodeB, 'x'],
      [nodeC, 'x'],
    ],
    10,
  )
  expect(
    revealed(
      job,
      [
        [nodeA, 'x'],
        [nodeB, 'x'],
      ],
      20,
    ).agreement,
  ).toBeUndefined()
})
