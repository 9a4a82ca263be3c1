import { describe, expect, it } from 'vitest'
import { faultOf, withFault, withFaultChanged } from '../../../icl/rules/faults.ts'
import {
  type Assignment,
  defaultJobLimits,
  type Job,
  resultOfRound,
  type Transition,
} from '../../../icl/rules/job.ts'
import { settle, tally } from '../../../icl/rules/settle.ts'
import { replicaFor } from '../../../icl/rules/share.ts'
import type { Address, ComparatorId } from '../../../lib/codecs.ts'
import { nodeAddress, resultOf, sampleJob, verdictOf } from './sample-job.ts'

type Said = readonly [answer: string, vote: Parameters<typeof verdictOf>[4]]

const leader = nodeAddress('1')
const verifierAt = (index: number): Address => nodeAddress(String(index + 2))

/** A job in which everybody has answered: the leader `x`, the verifiers as said. */
function answeredJob(said: readonly Said[], comparator: ComparatorId = 'exact'): Job {
  const members = [leader, ...said.map((_, index) => verifierAt(index))]
  const job = sampleJob({ members, quorum: members.length, comparator })
  const result = resultOf(leader, 1, 'x')
  const assignments = job.assignments.map((assignment): Assignment => {
    const vote = said[assignment.seat - 1]
    const verdict =
      vote && verdictOf(assignment.node, assignment.fence, vote[0], result.hash, vote[1])
    return { ...assignment, status: 'done', ...(verdict && { verdict }) }
  })
  return { ...job, phase: 'running', assignments, result, outbox: [] }
}

/** Where a tally leads, and what each node is scored for, the leader first. */
function outcomeOf(said: readonly Said[], limits = defaultJobLimits) {
  const next = tally(answeredJob(said), 100, limits)
  if ('refused' in next) throw new Error(next.detail)
  return { ...next, phase: next.job.phase, reason: next.job.reason, codes: codesOf(next) }
}

function codesOf(next: Transition) {
  const effects = 'refused' in next ? [] : next.effects
  return effects.flatMap((effect) => (effect.type === 'score-node' ? [effect.code] : []))
}

const yes: Said = ['x', 'match']
const no: Said = ['y', 'different-answer']
const other: Said = ['z', 'different-answer']
const unclear: Said = ['y', 'inconclusive']

describe('once everybody has answered', () => {
  it('a majority of matches accepts, and scores each by its vote', () => {
    const { phase, reason, codes, effects } = outcomeOf([yes, no, yes])
    expect([phase, reason]).toEqual(['accepted', 'quorum-agreed'])
    expect(codes).toEqual([
      'result-accepted',
      'verdict-upheld',
      'verdict-outvoted',
      'verdict-upheld',
    ])
    expect(effects.at(-1)).toEqual({ type: 'commit-result' })
    expect(outcomeOf([yes, yes, unclear]).codes.at(-1)).toBe('verdict-disputed')
  })

  it('a majority that contradicts the leader with one answer starts over', () => {
    const { job, codes, reason } = outcomeOf([no, yes, no])
    const ended = settle(job, 'expired', 'deadline-passed', 200)
    expect([job.phase, reason, job.round, job.seats, job.fillAt]).toEqual([
      'running',
      'leader-outvoted',
      1,
      4,
      100,
    ])
    expect(codes).toEqual([])
    expect(codesOf(ended)).toEqual([
      'result-rejected',
      'verdict-upheld',
      'verdict-outvoted',
      'verdict-upheld',
    ])
    expect(job.result).toBeUndefined()
    expect(job.rounds).toEqual([{ round: 0, result: resultOf(leader, 1, 'x'), endedAt: 100 }])
    expect(job.events.at(-1)).toMatchObject({ type: 'started-over', phase: 'running' })
    expect(outcomeOf([no, no, unclear]).job.round).toBe(1)
  })

  it('a majority whose answers differ asks one more, and so does half of the votes', () => {
    for (const said of [
      [no, other],
      [yes, no],
      [no, no, other],
      [yes, yes, no, no],
    ]) {
      const { job, effects } = outcomeOf(said)
      expect([job.phase, job.seats, job.fillAt]).toEqual(['running', said.length + 2, 100])
      expect(effects).toEqual([])
      expect(job.events.at(-1)?.type).toBe('verifier-added')
    }
  })

  it('nobody is asked beyond the limit: a dispute, which says little of a leader whom one bears out', () => {
    const limits = { ...defaultJobLimits, maxVerifiers: 2 }
    const disputed = outcomeOf([yes, no], limits)
    expect([disputed.phase, disputed.reason]).toEqual(['disputed', 'quorum-disagreed'])
    expect(disputed.codes).toEqual(['result-disputed', 'verdict-disputed', 'verdict-disputed'])
    expect(outcomeOf([no, other], limits).codes[0]).toBe('result-unmatched')
    expect(outcomeOf([unclear, unclear], limits).codes[0]).toBe('result-contradicted')
    expect(outcomeOf([unclear, no, other, ['w', 'different-answer']], limits).codes[0]).toBe(
      'result-unmatched',
    )
  })

  it('nothing is decided while one has not answered, or a seat is empty', () => {
    const job = answeredJob([yes, yes])
    const waiting = {
      ...job,
      assignments: job.assignments.map((assignment) =>
        assignment.seat === 2 ? { ...assignment, status: 'committed' as const } : assignment,
      ),
    }
    expect(tally(waiting, 100, defaultJobLimits)).toEqual({ job: waiting, effects: [] })
    const empty = { ...job, seats: 4 }
    expect(tally(empty, 100, defaultJobLimits)).toEqual({ job: empty, effects: [] })
  })
})

describe('a job that ends otherwise', () => {
  it('says why and when, and scores nobody who answered in it', () => {
    for (const [phase, reason] of [
      ['expired', 'deadline-passed'],
      ['cancelled', 'cancelled-by-client'],
    ] as const) {
      const next = settle(answeredJob([yes, no]), phase, reason, 7_000)
      if ('refused' in next) throw new Error(next.detail)
      expect(next.effects).toEqual([])
      expect(next.job).toMatchObject({ phase, reason, settledAt: 7_000 })
      expect(next.job.events.at(-1)).toMatchObject({ type: phase, phase, detail: reason })
    }
  })

  it('scores nobody who has not answered', () => {
    const next = settle(sampleJob(), 'disputed', 'quorum-disagreed', 1)
    expect('effects' in next && next.effects).toEqual([])
  })

  it('ends in a phase that settles it, or not at all', () => {
    expect(() => settle(sampleJob(), 'running', 'quorum-agreed', 1)).toThrow(
      'running does not settle a job',
    )
  })
})

describe('the rounds of a job', () => {
  it('are kept with their results, the last twenty of them', () => {
    let job = answeredJob([no, no])
    const again = answeredJob([no, no])
    for (let round = 0; round < 25; round++) {
      const assignments = again.assignments.map((assignment) => ({ ...assignment, round }))
      const next = tally({ ...job, assignments, result: again.result }, round, defaultJobLimits)
      if ('refused' in next) throw new Error(next.detail)
      job = next.job
    }
    expect(job.rounds?.map(({ round }) => round)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 5),
    )
    expect(resultOfRound(job, 24)).toEqual(again.result)
    expect(resultOfRound(job, 4)).toBeUndefined()
    expect(resultOfRound({ ...job, result: again.result }, 25)).toBe(again.result)
    expect(resultOfRound(sampleJob(), 3)).toBeUndefined()
  })
})

describe('the faults of a job', () => {
  const [assignmentA, assignmentB] = sampleJob().assignments as readonly [Assignment, Assignment]
  const statements = [resultOf(leader, 1, 'x'), resultOf(leader, 1, 'y')]
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
