import { describe, expect, it } from 'vitest'
import { currentTurn } from '../../../icl/rules/agreed.ts'
import { assignmentOf, defaultJobLimits, type Job } from '../../../icl/rules/job.ts'
import { nextStep } from '../../../icl/rules/next-step.ts'
import { transition } from '../../../icl/rules/transition.ts'
import type { Address } from '../../../lib/codecs.ts'
import { comparators } from '../../../lib/comparators/all.ts'
import {
  abortTurnBy,
  answerOf,
  decidedJob,
  deliverBy,
  delivered,
  deliveryOf,
  fenceOf,
  inTurn,
  nodeA,
  nodeB,
  nodeC,
  nodeD,
  refusalOf,
  type Said,
  scoresOf,
  take,
  tickWith,
  verdictBy,
} from './sample-job.ts'

const { deliverMs, checkMs } = defaultJobLimits
const agreed = () => decidedJob('x', 'x', 'x')
const [first, second, third] = inTurn(agreed()) as [Address, Address, Address]
/** With two members and a node that differs: the last of three. */
const twoOfThree = () => decidedJob('x', 'x', 'y', { terms: { rule: 'any-two', max_answers: 5 } })
const stepOf = (job: Job, node: Address) => nextStep(job, assignmentOf(job, node)!).step
const steps = (job: Job) => [first, second, third].map((node) => stepOf(job, node))
const judged = (job: Job, ...verdicts: readonly (readonly [Address, Said])[]) =>
  verdicts.reduce((next, [node, said]) => take(next, verdictBy(next, node, said), 30), job)
const delivererOf = (job: Job) =>
  job.assignments.find(({ fence }) => fence === currentTurn(job)?.fence)?.node
const failures = ({ agreement }: Job) => agreement?.turns.map(({ failed }) => failed?.reason)
const code = (node: Address) => node.at(-1)!

describe('a delivery', () => {
  it('is checked by the other members, who have 45 s, and settles by what they say', () => {
    const job = agreed()
    expect(steps(job)).toEqual(['deliver', 'wait', 'wait'])
    const open = delivered(job, 20)
    expect(steps(open)).toEqual(['wait', 'check', 'check'])
    expect(open.tickAt).toBe(20 + checkMs)
    const once = judged(open, [second, 'match'])
    expect([once.phase, steps(once)]).toEqual(['running', ['wait', 'wait', 'check']])
    const done = judged(once, [third, 'match'])
    expect([done.phase, done.reason, done.settledAt, done.tickAt]).toEqual([
      'accepted',
      'quorum-agreed',
      30,
      undefined,
    ])
    expect(scoresOf(done)).toEqual({
      [code(first)]: 'answer-delivered',
      [code(second)]: 'answer-agreed',
      [code(third)]: 'answer-agreed',
    })
    expect(done.outbox.map(({ effect }) => effect.type)).toContain('commit-result')
  })

  it('settles by a tie, and against the one that refused it', () => {
    const done = judged(delivered(agreed(), 20), [second, 'output-mismatch'], [third, 'match'])
    expect(done.phase).toBe('accepted')
    expect(scoresOf(done)[code(second)]).toBe('answer-undecided verdict-outvoted')
  })

  it('that the others refuse gives the turn to the next, who is checked by the first one, too', () => {
    const refused = judged(
      delivered(agreed(), 20),
      [second, 'output-mismatch'],
      [third, 'output-unavailable'],
    )
    expect([refused.phase, delivererOf(refused), failures(refused)]).toEqual([
      'running',
      second,
      ['output-refused', undefined],
    ])
    const done = judged(delivered(refused, 40), [first, 'match'], [third, 'match'])
    expect([done.phase, scoresOf(done)]).toEqual([
      'accepted',
      {
        [code(first)]: 'answer-undecided output-refused',
        [code(second)]: 'answer-delivered',
        [code(third)]: 'answer-agreed',
      },
    ])
  })

  it('settles by the checks that came in time, and scores who gave none', () => {
    const once = judged(delivered(agreed(), 20), [second, 'match'])
    const done = take(once, { type: 'tick' }, 20 + checkMs)
    expect([done.phase, scoresOf(done)[code(third)]]).toEqual([
      'accepted',
      'answer-undecided never-checked',
    ])
  })

  it('that nobody checks gives the turn to the next', () => {
    const silent = take(delivered(agreed(), 20), { type: 'tick' }, 20 + checkMs)
    expect([delivererOf(silent), failures(silent)]).toEqual([second, ['never-checked', undefined]])
    let away = delivered(agreed(), 20)
    for (const node of [second, third]) {
      away = take(away, abortTurnBy(away, node, 'deadline-too-close'), 30)
    }
    expect([delivererOf(away), failures(away)]).toEqual([second, ['never-checked', undefined]])
    expect(scoresOf(take(away, { type: 'tick' }, away.deadline))).toEqual({
      [code(first)]: 'answer-agreed',
      [code(second)]: 'answer-undecided',
      [code(third)]: 'answer-undecided',
    })
  })

  it('after another that nobody checked either blames a node once: its event counts once for an assignment', () => {
    const once = take(delivered(agreed(), 20), { type: 'tick' }, 20 + checkMs)
    const silent = take(delivered(once, 20 + checkMs), { type: 'tick' }, 20 + 2 * checkMs)
    expect(failures(silent)).toEqual(['never-checked', 'never-checked', undefined])
    expect(scoresOf(take(silent, { type: 'tick' }, silent.deadline))).toEqual({
      [code(first)]: 'answer-undecided never-checked',
      [code(second)]: 'answer-undecided never-checked',
      [code(third)]: 'answer-undecided never-checked',
    })
  })

  it('that does not come, or is given back, gives the turn to the next; after the last the job is disputed', () => {
    const late = take(agreed(), { type: 'tick' }, 10 + deliverMs)
    expect([delivererOf(late), failures(late)]).toEqual([second, ['never-delivered', undefined]])
    expect(refusalOf(late, deliverBy(late, first), 50_000)).toBe('not-your-turn')
    const back = take(late, abortTurnBy(late, second, 'node-failed'), 50_000)
    expect([delivererOf(back), currentTurn(back)?.deadline]).toEqual([third, 50_000 + deliverMs])
    const none = take(back, abortTurnBy(back, third, 'node-crashed'), 60_000)
    expect([none.phase, none.reason, failures(none)]).toEqual([
      'disputed',
      'undelivered',
      ['never-delivered', 'node-failed', 'node-crashed'],
    ])
    expect(scoresOf(none)).toEqual({
      [code(first)]: 'answer-undecided never-delivered',
      [code(second)]: 'answer-undecided',
      [code(third)]: 'answer-undecided',
    })
  })

  it('is ended by nothing that is late for an earlier turn, and its check is not either', () => {
    const late = take(agreed(), { type: 'tick' }, 10 + deliverMs)
    // The first had its turn: what it says of that says nothing of its part in the second.
    const open = delivered(late, 50_000)
    expect(take(open, abortTurnBy(open, first, 'node-failed', 0), 50_010)).toBe(open)
    expect(stepOf(open, first)).toBe('check')
    // Nor does a check of the first delivery that is given back in the second turn.
    const refused = judged(
      delivered(agreed(), 20),
      [second, 'output-mismatch'],
      [third, 'output-mismatch'],
    )
    expect(delivererOf(refused)).toBe(second)
    expect(take(refused, abortTurnBy(refused, second, 'deadline-too-close', 0), 40)).toBe(refused)
    expect(delivererOf(take(refused, abortTurnBy(refused, second), 40))).toBe(third)
    const joiner = take(decidedJob('x', 'x', 'y'), tickWith([nodeD]), 200)
    expect(refusalOf(joiner, abortTurnBy(joiner, nodeD), 300)).toBe('not-revealed')
  })

  it('is taken of whose turn it is, and names its own answer', () => {
    const job = agreed()
    expect(refusalOf(job, deliverBy(job, second), 20)).toBe('not-your-turn')
    const delivery = deliveryOf(job, first)
    const body = { ...delivery.body, answer: answerOf(second, 2, 'x').hash }
    const other = { ...deliverBy(job, first), delivery: { ...delivery, body } }
    expect(refusalOf(job, other as never, 20)).toBe('statement-mismatch')
    const open = delivered(job, 20)
    expect(take(open, deliverBy(open, first), 30)).toBe(open)
    expect(refusalOf(open, deliverBy(open, first, 'another'), 30)).toBe('already-answered')
    expect(take(open, abortTurnBy(open, first), 30)).toBe(open)
  })
})

describe('a check', () => {
  it('counts although its node gives back afterwards', () => {
    const once = judged(delivered(agreed(), 20), [second, 'match'])
    const left = take(once, abortTurnBy(once, second, 'node-stopping'), 40)
    expect(judged(left, [third, 'output-mismatch']).phase).toBe('accepted')
  })

  it('counts although its node had said that it could not check', () => {
    const open = delivered(agreed(), 20)
    const left = take(open, abortTurnBy(open, second, 'deadline-too-close'), 25)
    expect(stepOf(left, second)).toBe('wait')
    expect(judged(left, [second, 'match'], [third, 'output-mismatch']).phase).toBe('accepted')
  })

  it('of a node outside the agreement is kept, and counts for nothing', () => {
    const job = twoOfThree()
    const [deliverer, checker] = inTurn(job) as [Address, Address]
    const open = delivered(job, 20)
    expect(new Set([nodeA, nodeB, nodeC].map((node) => stepOf(open, node)))).toEqual(
      new Set(['check', 'differ', 'wait']),
    )
    const differing = judged(open, [nodeC, 'different-answer'])
    expect([differing.phase, stepOf(differing, nodeC)]).toEqual(['running', 'wait'])
    expect(judged(open, [nodeC, 'output-mismatch'], [checker, 'match']).phase).toBe('accepted')
    const done = judged(differing, [checker, 'match'])
    expect([done.phase, scoresOf(done)]).toEqual([
      'accepted',
      {
        [code(deliverer)]: 'answer-delivered',
        [code(checker)]: 'answer-agreed',
        c: 'answer-differed',
      },
    ])
    expect(currentTurn(done)?.verdicts.map(({ body }) => body.address)).toEqual([nodeC, checker])
  })

  it('is not asked of a node that matches the deliverer, and not all of the agreement', async () => {
    const words = Array.from({ length: 120 }, (_, index) => `word${(index * 7919).toString(36)}`)
    const evidenceWithout = (from: number, to: number) => {
      const changed = words.map((word, at) => (at >= from && at < to ? `other${at}` : word))
      const key = new Uint8Array(32).fill(3)
      return comparators['similar/2'].evidenceOf({ text: changed.join(' '), prompt: '', key })
    }
    // The second answer lies between the others, which do not match one another.
    const job = decidedJob(
      await evidenceWithout(0, 30),
      await evidenceWithout(0, 0),
      await evidenceWithout(60, 90),
      { comparator: 'similar/2', terms: { rule: 'any-two', max_answers: 5 } },
    )
    const [one, other] = inTurn(job) as [Address, Address]
    expect([one, other].toSorted()).toEqual([nodeA, nodeB])
    const wanted = (deliverer: Address) => (deliverer === nodeB ? 'wait' : 'differ')
    expect(stepOf(delivered(job, 20), nodeC)).toBe(wanted(one))
    const next = take(job, abortTurnBy(job, one, 'node-failed'), 20)
    expect(stepOf(delivered(next, 30), nodeC)).toBe(wanted(other))
  })

  it('needs an answer, a delivery, and is on this one', () => {
    const job = agreed()
    expect(refusalOf(job, verdictBy(job, second, 'match'), 20)).toBe('too-early')
    const open = delivered(job, 20)
    expect(
      refusalOf(open, verdictBy(open, second, 'match', deliveryOf(open, second).hash), 30),
    ).toBe('statement-mismatch')
    expect(refusalOf(open, verdictBy(open, first, 'match'), 30)).toBe('statement-mismatch')
    const before = decidedJob('x', 'x', 'y')
    const joiner = take(before, tickWith([nodeD]), 100)
    expect(refusalOf(joiner, verdictBy(joiner, nodeD, 'match'), 300)).toBe('not-revealed')
  })

  it('is made once: the same again changes nothing, another is refused, also once the job has settled', () => {
    const open = delivered(agreed(), 20)
    const once = judged(open, [second, 'match'])
    expect(take(once, verdictBy(once, second, 'match'), 40)).toBe(once)
    const other = verdictBy(once, second, 'output-mismatch')
    expect(refusalOf(once, other, 40)).toBe('already-answered')
    const done = judged(once, [third, 'match'])
    expect(
      take(done, verdictBy(done, second, 'match', currentTurn(done)!.delivery!.hash), 40),
    ).toBe(done)
    expect(refusalOf(done, other, 40)).toBe('already-answered')
  })

  it.each(['different-answer', 'inconclusive'] as const)(
    'that the answers refute (%s) is a fault and not counted, and no other is taken of its node',
    (said) => {
      const open = delivered(agreed(), 20)
      const lie = verdictBy(open, second, said)
      const refuted = take(open, lie, 30)
      expect(refuted.faults).toMatchObject([{ kind: 'verdict-refuted', node: second }])
      expect(refuted.faults?.[0]?.statements?.map(({ body }) => body.statement)).toEqual([
        'svc-answer-v3',
        'svc-delivery-v2',
        'svc-answer-v3',
        'svc-verdict-v2',
      ])
      expect(currentTurn(refuted)?.verdicts).toEqual([])
      expect(take(refuted, lie, 40)).toBe(refuted)
      const next = transition(
        refuted,
        verdictBy(refuted, second, 'output-mismatch'),
        40,
        defaultJobLimits,
      )
      expect(next).toMatchObject({ refused: 'already-answered' })
      expect('refused' in next && next.noted?.job.faults?.map(({ kind }) => kind)).toEqual([
        'verdict-refuted',
        'equivocated',
      ])
      const done = judged(refuted, [third, 'match'])
      expect([done.phase, scoresOf(done)[code(second)]]).toEqual([
        'accepted',
        'verdict-refuted answer-undecided',
      ])
    },
  )

  it('that says match though the answers do not is a fault of a node outside, which nobody waits for', () => {
    const open = delivered(twoOfThree(), 20)
    const lied = judged(open, [nodeC, 'match'])
    expect(lied.faults).toMatchObject([
      { kind: 'verdict-refuted', node: nodeC, fence: fenceOf(open, nodeC) },
    ])
    expect(judged(lied, [inTurn(open)[1]!, 'match']).phase).toBe('accepted')
  })
})
