import { describe, expect, it } from 'vitest'
import { assignmentOf, defaultJobLimits, type Job } from '../../../icl/rules/job.ts'
import { nextStep } from '../../../icl/rules/next-step.ts'
import { assignmentAt, commitmentsOf } from '../../../icl/rules/seats.ts'
import {
  abortBy,
  answered,
  claimed,
  commitBy,
  committed,
  fenceOf,
  inTurn,
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
const threeNodes = { members: [nodeA, nodeB, nodeC] }
const stepOf = (job: Job, node: typeof nodeA) => nextStep(job, assignmentOf(job, node)!)
const all = (answer: string) =>
  [nodeA, nodeB, nodeC].map((node) => [node, answer] as [typeof nodeA, string])
const bound = (changes = {}) => committed(sampleJob(changes), all('x'), 10)

describe('a commitment', () => {
  it('takes a claimed assignment, and is made once', () => {
    const job = claimed(sampleJob(), nodeA, 10)
    expect(refusalOf(job, commitBy(job, nodeB, 'x'), 20)).toBe('not-claimed')
    const first = take(job, commitBy(job, nodeA, 'x'), 20)
    expect(assignmentOf(first, nodeA)).toMatchObject({ status: 'committed', committedAt: 20 })
    expect(take(first, commitBy(first, nodeA, 'x'), 30)).toBe(first)
    expect(refusalOf(first, commitBy(first, nodeA, 'y'), 30)).toBe('already-committed')
  })

  it('ends the lease: its node waits for the others without a limit of its own', () => {
    const job = committed(sampleJob(), [[nodeA, 'x']], 10)
    expect(assignmentOf(job, nodeA)?.deadline).toBeUndefined()
    expect(stepOf(job, nodeA)).toEqual({ step: 'wait' })
    expect(refusalOf(job, revealBy(job, nodeA, 'x'), 20)).toBe('too-early')
  })

  it('is the last of its batch: all have 30 s to reveal', () => {
    const job = bound()
    for (const { deadline } of job.assignments) expect(deadline).toBe(10 + revealMs)
    expect(job.tickAt).toBe(10 + revealMs)
    expect(stepOf(job, nodeB)).toEqual({ step: 'reveal', deadline: 10 + revealMs })
  })

  it('that is given up before that is over for good: a node never commits twice in a job', () => {
    const job = committed(sampleJob(threeNodes), [[nodeB, 'x']], 10)
    const left = take(job, abortBy(job, nodeB, 'node-stopping'), 20)
    expect(assignmentOf(left, nodeB)).toMatchObject({ status: 'aborted', reason: 'node-stopping' })
    const later = take(left, tickWith([nodeA, nodeB, nodeC]), 60_000)
    expect(later.assignments).toHaveLength(3)
    expect([later.reason, scoresOf(later)]).toEqual(['list-used-up', {}])
  })
})

describe('a reveal', () => {
  it('opens what was committed to, once', () => {
    const job = bound()
    expect(refusalOf(job, { ...revealBy(job, nodeA, 'y'), commitment: 'z' } as never, 20)).toBe(
      'commitment-mismatch',
    )
    const once = revealed(job, [[nodeA, 'x']], 20)
    expect(assignmentOf(once, nodeA)).toMatchObject({ status: 'revealed', revealedAt: 20 })
    expect(stepOf(once, nodeA)).toEqual({ step: 'wait' })
    expect(take(once, revealBy(once, nodeA, 'x'), 30)).toBe(once)
    expect(refusalOf(once, revealBy(once, nodeA, 'y'), 30)).toBe('already-answered')
  })

  it('takes a commitment', () => {
    const job = claimed(sampleJob(), nodeA, 10)
    expect(refusalOf(job, revealBy(job, nodeA, 'x'), 20)).toBe('not-committed')
  })

  it('that does not come in time costs the seat, which another takes', () => {
    const job = take(
      revealed(
        bound(),
        [
          [nodeA, 'x'],
          [nodeB, 'x'],
        ],
        20,
      ),
      tickWith([nodeD]),
      10 + revealMs,
    )
    expect(assignmentOf(job, nodeC)).toMatchObject({ status: 'lapsed', reason: 'never-revealed' })
    expect([scoresOf(job), assignmentAt(job, 2)?.node]).toEqual([{ c: 'never-revealed' }, nodeD])
    expect(refusalOf(job, revealBy(job, nodeC, 'x'), 40_000)).toBe('stale-fence')
    const bindsItself = committed(job, [[nodeD, 'x']], 50_000)
    expect(assignmentOf(bindsItself, nodeD)?.deadline).toBe(50_000 + revealMs)
    const whole = revealed(bindsItself, [[nodeD, 'x']], 51_000)
    expect(whole.agreement?.group).toEqual([1, 2, 4])
    // Its node could have copied what the others had revealed.
    expect(inTurn(whole)).toEqual([nodeD, nodeA, nodeB])
  })

  it('of a node that took a seat later waits until all of the batch before have revealed', () => {
    const left = take(bound(), abortBy(bound(), nodeC), 20)
    const joined = committed(take(left, tickWith([nodeD]), 30), [[nodeD, 'x']], 40)
    expect(stepOf(joined, nodeD)).toEqual({ step: 'wait' })
    const over = revealed(
      joined,
      [
        [nodeA, 'x'],
        [nodeB, 'x'],
      ],
      50,
    )
    expect(stepOf(over, nodeD)).toEqual({ step: 'reveal', deadline: 50 + revealMs })
    const seen = [0, 1].map((batch) => commitmentsOf(over, batch).map(({ fence }) => fence))
    expect(seen).toEqual([[1, 2, 3], [4]])
  })

  it('that comes late counts while nobody has the seat: three nodes are enough for a job', () => {
    const late = take(
      revealed(
        bound(threeNodes),
        [
          [nodeA, 'x'],
          [nodeB, 'x'],
        ],
        20,
      ),
      tickWith([nodeA, nodeB, nodeC]),
      10 + revealMs,
    )
    expect([late.reason, stepOf(late, nodeC)]).toEqual(['not-enough-nodes', { step: 'reveal' }])
    const whole = revealed(late, [[nodeC, 'x']], 60_000)
    expect(whole.agreement?.group).toEqual([1, 2, 3])
    const answer = assignmentOf(whole, nodeC)!
    expect([answer.status, answer.reason, answer.endedAt]).toEqual([
      'revealed',
      undefined,
      undefined,
    ])
    expect([whole.reason, whole.fillAt, scoresOf(whole)]).toEqual([
      undefined,
      undefined,
      { c: 'never-revealed' },
    ])
  })

  it('cannot be got out of by giving back', () => {
    const left = take(bound(), abortBy(bound(), nodeB, 'provider-rate-limited'), 20)
    expect(assignmentOf(left, nodeB)).toMatchObject({ status: 'lapsed', reason: 'never-revealed' })
    expect(scoresOf(left)).toEqual({ b: 'never-revealed' })
  })

  it('stays: a node that has answered gives nothing back', () => {
    const job = revealed(bound(), [[nodeA, 'x']], 20)
    expect(take(job, abortBy(job, nodeA), 30)).toBe(job)
  })
})

it('a node that gave back before it committed may return when nobody else is left, and answers then', () => {
  const job = claimed(sampleJob(threeNodes), nodeA, 10)
  const first = fenceOf(job, nodeA)
  const left = take(job, abortBy(job, nodeA, 'provider-rate-limited'), 20)
  const back = take(left, tickWith([nodeA, nodeB, nodeC]), 5_000)
  expect(fenceOf(back, nodeA)).toBeGreaterThan(first)
  expect(answered(back, all('x'), 6_000).agreement?.group).toHaveLength(3)
})
