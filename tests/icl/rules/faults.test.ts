import { describe, expect, it } from 'vitest'
import type { NodeCommand } from '../../../icl/rules/commands.ts'
import { defaultJobLimits, type Job } from '../../../icl/rules/job.ts'
import { transition } from '../../../icl/rules/transition.ts'
import type { Address } from '../../../lib/codecs.ts'
import {
  accepted,
  claimed,
  commitBy,
  decidedJob,
  deliverBy,
  delivered,
  inTurn,
  nodeA,
  nodeD,
  refusalOf,
  revealBy,
  sampleJob,
  signedWith,
  take,
  tickWith,
  verdictBy,
} from './sample-job.ts'

const agreed = () => decidedJob('x', 'x', 'x')
const [deliverer, second] = inTurn(agreed()) as [Address, Address]
const open = () => delivered(agreed(), 20)

/** What a refused command leaves on record. */
function notedBy(job: Job, command: NodeCommand, now = 100): Job | undefined {
  const next = transition(job, command, now, defaultJobLimits)
  return 'refused' in next ? next.noted?.job : undefined
}

const kindsOf = (job: Job | undefined) => job?.faults?.map(({ kind }) => kind)
const accusationsIn = (job: Job | undefined) =>
  job?.outbox.flatMap(({ effect }) =>
    effect.type === 'score-node' || effect.type === 'slash-node' ? [effect] : [],
  )

describe('two contradictory statements for one fence', () => {
  const judged = () => take(open(), verdictBy(open(), second, 'match'), 30)
  const again: Readonly<Record<string, readonly [Job, NodeCommand]>> = {
    answers: [agreed(), revealBy(agreed(), nodeA, 'y')],
    deliveries: [open(), deliverBy(open(), deliverer, 'other')],
    verdicts: [judged(), verdictBy(judged(), second, 'output-unavailable')],
  }

  it.each(Object.entries(again))(
    '(%s) are both kept, scored and accused, once',
    (_, [job, other]) => {
      const { node, fence } = other
      expect(refusalOf(job, other, 100)).toBe('already-answered')
      const noted = notedBy(job, other)!
      expect(noted.faults).toMatchObject([{ kind: 'equivocated', node, fence, at: 100 }])
      const [one, two] = noted.faults![0]!.statements!
      expect([one!.body.address, two!.body.address, one!.hash === two!.hash]).toEqual([
        node,
        node,
        false,
      ])
      expect(accusationsIn(noted)).toEqual([
        { type: 'score-node', node, fence, code: 'equivocated' },
        { type: 'slash-node', node, fence, kind: 'equivocated' },
      ])
      expect([
        noted.assignments.find((own) => own.fence === fence)?.scores,
        noted.agreement,
      ]).toEqual([['equivocated'], job.agreement])
      expect(notedBy(noted, other)).toBeUndefined()
    },
  )

  it.each(Object.entries(again))('(%s) by two runs of the node are no fault', (_, [job, other]) => {
    const changed = signedWith(other, 'of another run')
    expect(refusalOf(job, changed, 100)).toBe('already-answered')
    expect(notedBy(job, changed)).toBeUndefined()
  })

  it.each(Object.entries(again))(
    '(%s) are a fault after the job has settled, too',
    (_, [job, other]) => {
      const ended = take(job, { type: 'tick' }, job.deadline)
      const noted = notedBy(ended, other, 700_000)
      expect([kindsOf(noted), noted?.phase, noted?.tickAt]).toEqual([
        ['equivocated'],
        'expired',
        undefined,
      ])
    },
  )

  it('are none for verdicts on two deliveries', () => {
    const [, , third] = inTurn(agreed()) as [Address, Address, Address]
    let job = take(open(), verdictBy(open(), third, 'output-mismatch'), 30)
    job = delivered(take(job, verdictBy(job, second, 'output-mismatch'), 30), 40)
    job = take(job, verdictBy(job, third, 'match'), 50)
    expect(job.faults).toBeUndefined()
  })

  it('let the job go on with the first', () => {
    const noted = notedBy(agreed(), revealBy(agreed(), nodeA, 'y'))!
    expect(accepted(noted, 110).phase).toBe('accepted')
  })
})

it('a verdict after a refuted one on the same delivery does not count, also in a later turn, and is a fault', () => {
  const [, , third] = inTurn(agreed()) as [Address, Address, Address]
  const lie = (job: Job) => take(job, verdictBy(job, third, 'different-answer'), 30)
  const lied = lie(open())
  const refused = take(lied, verdictBy(lied, second, 'output-mismatch'), 30)
  const again = lie(delivered(refused, 40))
  expect(kindsOf(again)).toEqual(['verdict-refuted'])
  const after = verdictBy(again, third, 'match')
  expect(refusalOf(again, after, 50)).toBe('already-answered')
  expect(kindsOf(notedBy(again, after, 50))).toEqual(['verdict-refuted', 'equivocated'])
})

it('a commitment after the lease gives back what the lapse cost, once, and counts for nothing else', () => {
  const job = take(claimed(sampleJob(), nodeA, 10), tickWith([nodeD]), 120_010)
  expect(job.assignments[0]).toMatchObject({ status: 'lapsed', scores: ['lease-lapsed'] })
  const late = commitBy(job, nodeA, 'x')
  expect(refusalOf(job, late, 120_020)).toBe('stale-fence')
  const noted = notedBy(job, late, 120_020)!
  expect(noted.assignments[0]?.scores).toEqual(['lease-lapsed', 'answered-late'])
  expect([noted.faults, noted.assignments[0]?.commitment]).toEqual([undefined, undefined])
  expect(notedBy(noted, late, 120_030)).toBeUndefined()
  const claim = { type: 'claim', node: nodeA, fence: 1 } as const
  expect(notedBy(job, claim, 120_030)).toBeUndefined()
})
