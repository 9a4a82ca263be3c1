import { describe, expect, it } from 'vitest'
import { faultOf, withFault, withFaultChanged } from '../../../icl/rules/faults.ts'
import type { Assignment, Job } from '../../../icl/rules/job.ts'
import { settle } from '../../../icl/rules/settle.ts'
import { replicaFor } from '../../../icl/rules/share.ts'
import { comparators } from '../../../lib/comparators/all.ts'
import type { Evidence } from '../../../lib/schemas/evidence.ts'
import {
  accepted,
  answerOf,
  decidedJob,
  nodeA,
  nodeB,
  nodeC,
  sampleJob,
  scoresOf,
  take,
} from './sample-job.ts'

const twoOf = (comparator: 'exact' | 'similar/2') =>
  ({ comparator, terms: { rule: 'any-two', max_answers: 5 } }) as const

describe('what a job says of an answer', () => {
  const prompt = 'Name the largest cities of the country in the order of their inhabitants.'
  const similar = comparators['similar/2']
  const evidenceOf = (text: string): Promise<Evidence> =>
    similar.evidenceOf({ text, prompt, key: new Uint8Array(32).fill(1) })
  const text =
    'The largest city of the country is Berlin with 3.7 million inhabitants, followed by Hamburg with 1.9 million, Munich with 1.5 million and Cologne with 1.1 million. Frankfurt comes next with 0.8 million, before Stuttgart and the cities of the Ruhr.'
  const otherText =
    'I cannot help with that request because no country was named in it. Please tell me which one you mean, and whether suburbs count, so that I can look for a list that fits what you need and give you the sources of each number.'

  it('that is in the agreement, delivered or not, or differs from it', () => {
    const done = accepted(decidedJob('x', 'y', 'x', twoOf('exact')), 30)
    expect(Object.values(scoresOf(done)).toSorted()).toEqual([
      'answer-agreed',
      'answer-delivered',
      'answer-differed',
    ])
    expect(scoresOf(done).b).toBe('answer-differed')
  })

  it('with whom it agreed, for a gain only', () => {
    const done = accepted(decidedJob('x', 'y', 'x', twoOf('exact')), 30)
    const partners = done.outbox.flatMap(({ effect }) =>
      effect.type === 'score-node' ? [[effect.node, effect.partners]] : [],
    )
    expect(Object.fromEntries(partners)).toEqual({
      [nodeA]: [nodeC],
      [nodeB]: undefined,
      [nodeC]: [nodeA],
    })
  })

  it('that has nothing in common with any answer of the agreement: it contradicts them', async () => {
    const [same, other] = [await evidenceOf(text), await evidenceOf(otherText)]
    expect(similar.compare(same, other)).toBe('no-match')
    const done = accepted(decidedJob(same, other, same, twoOf('similar/2')), 30)
    expect(scoresOf(done).b).toBe('answer-contradicted')
  })

  it('nothing, when nobody agreed', () => {
    const disputed = decidedJob('x', 'y', 'z', { members: sampleJob().list.members.slice(0, 3) })
    expect([disputed.phase, scoresOf(disputed)]).toEqual([
      'disputed',
      { a: 'answer-undecided', b: 'answer-undecided', c: 'answer-undecided' },
    ])
  })

  it('the same when the job expires before it is delivered', () => {
    const late = take(decidedJob('x', 'x', 'x', { deadline: 40_000 }), { type: 'tick' }, 40_000)
    expect([late.phase, scoresOf(late)]).toEqual([
      'expired',
      { a: 'answer-agreed', b: 'answer-agreed', c: 'answer-agreed' },
    ])
  })
})

describe('a job that ends', () => {
  it('says why and when', () => {
    for (const [phase, reason] of [
      ['expired', 'deadline-passed'],
      ['cancelled', 'cancelled-by-client'],
    ] as const) {
      const next = settle(sampleJob(), phase, reason, 7_000)
      expect(next.effects).toEqual([])
      expect(next.job).toMatchObject({ phase, reason, settledAt: 7_000 })
      expect(next.job.events.at(-1)).toMatchObject({ type: phase, phase, detail: reason })
    }
  })

  it('ends in a phase that settles it, or not at all', () => {
    expect(() => settle(sampleJob(), 'running', 'quorum-agreed', 1)).toThrow(
      'running does not settle a job',
    )
  })
})

describe('the faults of a job', () => {
  const [assignmentA, assignmentB] = sampleJob().assignments as readonly [Assignment, Assignment]
  const statements = [answerOf(nodeA, 1, 'x'), answerOf(nodeA, 1, 'y')]
  const noted = (job: Job, assignment: Assignment, kind: 'equivocated' | 'verdict-refuted') =>
    withFault(job, assignment, kind, statements, 1_234)

  it('are known by their kind and fence, each once, with what follows from them', () => {
    const first = noted(sampleJob(), assignmentA, 'equivocated')!
    expect(first.effects).toEqual([
      { type: 'score-node', node: assignmentA.node, fence: 1, code: 'equivocated' },
      { type: 'slash-node', node: assignmentA.node, fence: 1, kind: 'equivocated' },
    ])
    expect(first.job.events.at(-1)).toMatchObject({
      type: 'fault-found',
      node: assignmentA.node,
      fence: 1,
      detail: 'equivocated',
    })
    expect(noted(first.job, assignmentA, 'equivocated')).toBeUndefined()
    const second = noted(first.job, assignmentA, 'verdict-refuted')!
    const third = noted(second.job, assignmentB, 'equivocated')!
    expect(third.job.faults?.map(({ kind, fence }) => [kind, fence])).toEqual([
      ['equivocated', 1],
      ['verdict-refuted', 1],
      ['equivocated', 2],
    ])
    expect(faultOf(third.job, 'equivocated', 2)?.node).toBe(assignmentB.node)
    expect(faultOf(third.job, 'verdict-refuted', 1)?.kind).toBe('verdict-refuted')
    expect(faultOf(third.job, 'verdict-refuted', 2)).toBeUndefined()
    expect(faultOf(sampleJob(), 'equivocated', 1)).toBeUndefined()
  })

  it('are changed one at a time', () => {
    const one = noted(sampleJob(), assignmentA, 'equivocated')!.job
    const two = noted(
      noted(one, assignmentA, 'verdict-refuted')!.job,
      assignmentB,
      'equivocated',
    )!.job
    const changed = withFaultChanged(two, { kind: 'equivocated', fence: 1 }, { at: 9 })
    expect(changed.faults).toEqual([{ ...two.faults![0]!, at: 9 }, two.faults![1], two.faults![2]])
    expect({ ...changed, faults: [] }).toEqual({ ...two, faults: [] })
    const none = withFaultChanged(sampleJob(), { kind: 'equivocated', fence: 1 }, { at: 9 })
    expect(none.faults).toBeUndefined()
  })
})

it('a piece of work is for the replica that it has always been for', () => {
  // Fixed: replicas of different versions must agree.
  const works = Array.from({ length: 24 }, (_, index) => `work ${index}`)
  expect(works.map((work) => replicaFor(work, ['b', 'a', 'c'])).join('')).toBe(
    'acbbaacbacaaccabcbcccbcb',
  )
  expect(replicaFor('any', ['alone'])).toBe('alone')
})
