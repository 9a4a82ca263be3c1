import { describe, expect, it } from 'vitest'
import type { Command } from '../../../icl/rules/commands.ts'
import { defaultJobLimits, type Job } from '../../../icl/rules/job.ts'
import { transition } from '../../../icl/rules/transition.ts'
import {
  answered,
  claimed,
  commitmentTo,
  committed,
  fenceOf,
  nodeA,
  nodeAddress,
  nodeB,
  nodeC,
  nodeD,
  refusalOf,
  resultOf,
  reveal,
  sampleJob,
  take,
  tickWith,
  verdictOf,
} from './sample-job.ts'

/** A job with a result `x`, to which both verifiers have committed an answer. */
const verifying = (b: string, c: string): Job => {
  let job = sampleJob()
  for (const node of [nodeA, nodeB, nodeC]) job = claimed(job, node, 10)
  job = committed(committed(job, nodeB, b, 20), nodeC, c, 20)
  return answered(job, nodeA, 'x', 30)
}

const postResult = (fence: number, answer: string): Command => ({
  type: 'post-result',
  node: nodeA,
  fence,
  result: resultOf(nodeA, fence, answer),
})

/** What a refused command leaves on record. */
function notedBy(job: Job, command: Command, now = 100): Job | undefined {
  const next = transition(job, command, now, defaultJobLimits)
  return 'refused' in next ? next.noted?.job : undefined
}

const kindsOf = (job: Job | undefined) => job?.faults?.map(({ kind }) => kind)
const outboxOf = (job: Job | undefined) =>
  job?.outbox.flatMap(({ effect }) =>
    effect.type === 'score-node' || effect.type === 'slash-node' ? [effect] : [],
  )

describe('two contradictory statements for one fence', () => {
  it('by two runs of the node are no fault: the first one stays, the second is refused', () => {
    const job = verifying('x', 'x')
    const fence = fenceOf(job, nodeA)
    const session = { key: 'of another run', not_after: 1, signature: '0x' as const }
    const result = { ...resultOf(nodeA, fence, 'y'), session }
    const second: Command = { type: 'post-result', node: nodeA, fence, result }
    expect(refusalOf(job, second, 100)).toBe('already-answered')
    expect(notedBy(job, second)).toBeUndefined()
  })

  it('of a leader are both kept, scored and accused, once, and the job goes on', () => {
    const job = verifying('x', 'x')
    expect(refusalOf(job, postResult(1, 'y'), 100)).toBe('already-answered')
    const noted = notedBy(job, postResult(1, 'y'))!
    expect(noted.faults).toMatchObject([
      { kind: 'equivocated', node: nodeA, role: 'leader', fence: 1, at: 100 },
    ])
    expect(noted.faults?.[0]?.statements?.map(({ hash }) => hash)).toEqual([
      job.result?.hash,
      resultOf(nodeA, 1, 'y').hash,
    ])
    expect(outboxOf(noted)).toEqual([
      { type: 'score-node', node: nodeA, fence: 1, code: 'equivocated' },
      { type: 'slash-node', node: nodeA, fence: 1, kind: 'equivocated' },
    ])
    expect(noted.assignments[0]?.scores).toEqual(['equivocated'])
    expect(noted.result).toBe(job.result)
    for (const answer of ['y', 'z']) expect(notedBy(noted, postResult(1, answer))).toBeUndefined()
    const both = take(take(noted, reveal(noted, nodeB, 'x'), 110), reveal(noted, nodeC, 'x'), 120)
    expect([both.phase, kindsOf(both)]).toEqual(['accepted', ['equivocated']])
  })

  it('of a verifier are a fault, also after the job has settled', () => {
    let job = verifying('x', 'x')
    const first = reveal(job, nodeB, 'x')
    job = take(take(job, first, 40), reveal(job, nodeC, 'x'), 50)
    const fence = fenceOf(job, nodeB)
    const verdict = verdictOf(nodeB, fence, 'x', job.result!.hash, 'output-unavailable')
    const other = { ...first, verdict } as Command
    expect(refusalOf(job, other, 700_000)).toBe('already-answered')
    const noted = notedBy(job, other, 700_000)
    expect(kindsOf(noted)).toEqual(['equivocated'])
    expect([noted?.phase, noted?.tickAt]).toEqual(['accepted', undefined])
  })

  it('are none when the very same comes again', () => {
    const job = verifying('x', 'x')
    expect(take(job, postResult(1, 'x'), 100)).toBe(job)
    const voted = take(job, reveal(job, nodeB, 'x'), 110)
    expect(take(voted, reveal(job, nodeB, 'x'), 120)).toBe(voted)
  })

  it('are held against the result of their own round, which the job keeps', () => {
    let job = verifying('y', 'y')
    job = take(take(job, reveal(job, nodeB, 'y'), 40), reveal(job, nodeC, 'y'), 50)
    expect([job.round, job.result]).toEqual([1, undefined])
    expect(job.rounds).toMatchObject([{ round: 0, endedAt: 50, result: { body: { fence: 1 } } }])
    expect(take(job, postResult(1, 'x'), 60)).toBe(job)
    expect(kindsOf(notedBy(job, postResult(1, 'z')))).toEqual(['equivocated'])
  })

  it('are none for different fences of one node', () => {
    let job = sampleJob()
    for (const node of [nodeA, nodeB, nodeC]) job = claimed(job, node, 10)
    job = take(job, { type: 'abort', node: nodeA, fence: 1, reason: 'provider-unavailable' }, 20)
    job = take(job, tickWith([nodeA]), 20)
    job = take(job, tickWith([nodeA]), 5_000)
    const fence = fenceOf(job, nodeA)
    expect(fence).toBeGreaterThan(1)
    job = answered(claimed(job, nodeA, 5_010), nodeA, 'x', 5_020)
    expect(refusalOf(job, postResult(1, 'y'), 5_030)).toBe('stale-fence')
    expect(notedBy(job, postResult(1, 'y'), 5_030)).toBeUndefined()
    expect(kindsOf(notedBy(job, postResult(fence, 'y'), 5_030))).toEqual(['equivocated'])
  })
})

describe('a verdict that its own evidence refutes', () => {
  it('is kept with the statement that it is about, scored and accused', () => {
    const job = verifying('y', 'x')
    const fence = fenceOf(job, nodeB)
    const lie = verdictOf(nodeB, fence, 'y', job.result!.hash, 'match')
    const commitment = commitmentTo(nodeB, fence, 'y')
    const command: Command = { type: 'post-verdict', node: nodeB, fence, verdict: lie, commitment }
    const refuted = take(job, command, 40)
    expect(refuted.faults).toEqual([
      {
        kind: 'verdict-refuted',
        node: nodeB,
        role: 'verifier',
        fence,
        at: 40,
        statements: [job.result, lie],
      },
    ])
    expect(outboxOf(refuted)?.map(({ type }) => type)).toEqual(['score-node', 'slash-node'])
    expect(refuted.assignments[1]).toMatchObject({ status: 'aborted', scores: ['verdict-refuted'] })
  })
})

describe('an answer after the lease', () => {
  it('gives back what the lapse cost, once, and counts for nothing else', () => {
    const job = take(claimed(sampleJob(), nodeA, 10), tickWith([nodeD]), 120_010)
    expect(job.assignments[0]).toMatchObject({ status: 'lapsed', scores: ['lease-lapsed'] })
    expect(refusalOf(job, postResult(1, 'x'), 120_020)).toBe('stale-fence')
    const noted = notedBy(job, postResult(1, 'x'), 120_020)!
    expect(noted.assignments[0]?.scores).toEqual(['lease-lapsed', 'answered-late'])
    expect([noted.faults, noted.result]).toEqual([undefined, undefined])
    expect(notedBy(noted, postResult(1, 'x'), 120_030)).toBeUndefined()
  })
})

describe('a dispute', () => {
  const ended = (...votes: readonly string[]): Job => {
    let job = verifying('p', 'q')
    job = take(take(job, reveal(job, nodeB, 'p'), 40), reveal(job, nodeC, 'q'), 50)
    for (const [index, answer] of votes.entries()) {
      const node = nodeAddress(['d', 'e', 'f'][index]!)
      job = committed(claimed(take(job, tickWith([node]), 60), node, 70), node, answer, 80)
      job = take(job, reveal(job, node, answer), 90)
    }
    return job.phase === 'disputed' ? job : take(job, tickWith([]), 100)
  }

  it.each([
    ['nobody agrees with anybody', ['r', 's', 't'], 'result-unmatched'],
    ['less than most verifiers agree with one another', ['p', 's', 't'], 'result-unmatched'],
    ['most verifiers agree, and none with the leader', ['p', 'p', 's'], 'result-contradicted'],
    ['one verifier agrees with the leader', ['x', 's', 't'], 'result-disputed'],
    ['there is nobody left to ask', [], 'result-unmatched'],
  ] as const)('in which %s says so of the leader', (_, votes, code) => {
    const job = ended(...votes)
    expect([job.phase, job.assignments[0]?.scores]).toEqual(['disputed', [code]])
  })
})
