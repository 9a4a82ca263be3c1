import { describe, expect, it } from 'vitest'
import { assignmentOf, defaultJobLimits, type Job } from '../../../icl/rules/job.ts'
import { nextStep } from '../../../icl/rules/next-step.ts'
import { shownJob } from '../../../icl/rules/shown-job.ts'
import { needsMembers } from '../../../icl/rules/tick.ts'
import {
  abortBy,
  claimed,
  commitBy,
  committed,
  decidedJob,
  fenceOf,
  nodeA,
  nodeB,
  nodeC,
  nodeD,
  refusalOf,
  revealBy,
  revealed,
  sampleJob,
  scoresOf,
  take,
  tickWith,
} from './sample-job.ts'

const { revealMs } = defaultJobLimits
const cancel = { type: 'cancel' } as const
const bound = () =>
  committed(
    sampleJob(),
    [nodeA, nodeB, nodeC].map((node) => [node, node === nodeC ? 'y' : 'x'] as const),
    10,
  )

describe('a client that cancels', () => {
  it('ends the job before any answer is opened, and says nothing of anybody', () => {
    for (const job of [
      sampleJob(),
      claimed(sampleJob(), nodeA, 10),
      committed(sampleJob(), [[nodeA, 'x']], 10),
    ]) {
      const ended = take(job, cancel, 20)
      expect([ended.phase, ended.reason, ended.tickAt, scoresOf(ended)]).toEqual([
        'cancelled',
        'cancelled-by-client',
        undefined,
        {},
      ])
      expect(take(ended, cancel, 30)).toBe(ended)
    }
  })

  it('cannot do so once the job has settled', () => {
    const expired = take(sampleJob(), { type: 'tick' }, 600_000)
    expect(refusalOf(expired, cancel, 600_001)).toBe('job-settled')
  })

  it('while answers are opened gets the scores that these bring, and learns nothing more', () => {
    const once = revealed(bound(), [[nodeA, 'x']], 20)
    const cancelled = take(once, cancel, 30)
    expect([cancelled.phase, shownJob(cancelled).phase]).toEqual(['running', 'cancelled'])
    expect(take(cancelled, cancel, 40)).toBe(cancelled)
    expect(needsMembers(cancelled, 10 + revealMs)).toBe(false)
    expect(take(cancelled, tickWith([nodeD]), 10 + revealMs).assignments).toHaveLength(3)
    const two = revealed(cancelled, [[nodeB, 'x']], 40)
    expect(two.phase).toBe('running')
    const ended = revealed(two, [[nodeC, 'y']], 50)
    expect([ended.phase, ended.reason, ended.agreement]).toEqual([
      'cancelled',
      'cancelled-by-client',
      undefined,
    ])
    expect(scoresOf(ended)).toEqual({
      a: 'answer-undecided',
      b: 'answer-undecided',
      c: 'answer-undecided',
    })
  })

  it('while answers are opened ends the job as cancelled at its deadline, too', () => {
    const cancelled = take(bound(), cancel, 20)
    expect(take(cancelled, { type: 'tick' }, cancelled.deadline)).toMatchObject({
      phase: 'cancelled',
      reason: 'cancelled-by-client',
    })
  })

  it('changes nothing at the scores of an agreement', () => {
    const any = { rule: 'any-two', max_answers: 5 } as const
    const agreed = decidedJob('x', 'x', 'y', { terms: any })
    const scores = { a: 'answer-agreed', b: 'answer-agreed', c: 'answer-differed' }
    expect(scoresOf(take(agreed, cancel, 30))).toEqual(scores)
    const list = bound().list
    const job: Job = { ...bound(), list: { ...list, terms: { ...list.terms, ...any } } }
    const ended = revealed(
      take(job, cancel, 20),
      [
        [nodeA, 'x'],
        [nodeB, 'x'],
        [nodeC, 'y'],
      ],
      30,
    )
    expect([ended.phase, scoresOf(ended)]).toEqual(['cancelled', scores])
  })

  it('waits no longer than for those that have to reveal', () => {
    const cancelled = take(revealed(bound(), [[nodeA, 'x']], 20), cancel, 30)
    expect(cancelled.tickAt).toBe(10 + revealMs)
    const ended = take(cancelled, { type: 'tick' }, 10 + revealMs)
    expect([ended.phase, scoresOf(ended)]).toEqual([
      'cancelled',
      { a: 'answer-undecided', b: 'never-revealed', c: 'never-revealed' },
    ])
    const given = take(
      take(cancelled, abortBy(cancelled, nodeB), 40),
      abortBy(cancelled, nodeC),
      50,
    )
    expect([given.phase, given.tickAt]).toEqual(['cancelled', undefined])
  })
})

describe('a node that got its seat later, when the client cancels', () => {
  /** A reveals, B let its time pass and D has its seat, C came late and has to reveal yet. */
  const replaced = (busy: boolean) => {
    let job = take(revealed(bound(), [[nodeA, 'x']], 20), abortBy(bound(), nodeB), 30)
    job = take(job, tickWith([nodeD]), 30)
    const fence = fenceOf(job, nodeD)
    return busy ? take(job, { type: 'find-busy', node: nodeD, fence }, 30) : claimed(job, nodeD, 30)
  }

  it('has nothing to do any more, and nobody waits for it', () => {
    for (const busy of [true, false]) {
      const cancelled = take(replaced(busy), cancel, 40)
      expect(nextStep(cancelled, assignmentOf(cancelled, nodeD)!).step).toBe('over')
      expect(cancelled.tickAt).toBe(10 + revealMs)
      expect(revealed(cancelled, [[nodeC, 'y']], 50).phase).toBe('cancelled')
      const fence = fenceOf(cancelled, nodeD)
      expect(take(cancelled, { type: 'find-ended', node: nodeD, fence }, 50).phase).toBe('running')
      expect(take(cancelled, tickWith([nodeD]), 60).assignments).toHaveLength(4)
    }
    const working = take(replaced(false), cancel, 40)
    expect(refusalOf(working, commitBy(working, nodeD, 'x'), 50)).toBe('job-settled')
    expect(
      refusalOf(working, { type: 'claim', node: nodeD, fence: fenceOf(working, nodeD) }, 50),
    ).toBe('job-settled')
  })

  it('does not lose its lease by it', () => {
    const cancelled = take(replaced(true), cancel, 40)
    const ended = take(cancelled, { type: 'tick' }, 25_000)
    expect([ended.phase, ended.tickAt]).toEqual(['running', 10 + revealMs])
  })

  it('may repeat a commitment that was made before', () => {
    const both = take(replaced(false), commitBy(replaced(false), nodeD, 'x'), 35)
    const cancelled = take(both, cancel, 40)
    expect(take(cancelled, commitBy(cancelled, nodeD, 'x'), 50)).toBe(cancelled)
    const one = revealed(cancelled, [[nodeC, 'y']], 50)
    expect(one.phase).toBe('running')
    expect(take(one, revealBy(one, nodeD, 'x'), 60).phase).toBe('cancelled')
  })
})
