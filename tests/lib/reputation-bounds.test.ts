import { describe, expect, it } from 'vitest'
import {
  afterEvent,
  type Counted,
  countedAfter,
  dayAllowance,
  emptyFold,
  inOrder,
  maxDoubtMillinats,
  newcomer,
  type ReputationEvent,
  type ReputationFold,
  reputationCodes,
  standingOf,
} from '../../lib/reputation.ts'
import { dayMs } from '../../lib/time.ts'
import { aJobId, anAddress } from '../branded.ts'

const node = anAddress(`0x${'a'.repeat(40)}`)
const jobId = aJobId(`0x${'1'.repeat(64)}`)
const clientOf = (index: number) => anAddress(`0x${index.toString(16).padStart(40, '0')}`)

type Choice = Pick<ReputationEvent, 'code' | 'client' | 'again'> & { readonly day?: number }

/** Events in the order given, a second apart in each day. */
const eventsOf = (choices: readonly Choice[]): readonly ReputationEvent[] =>
  choices.map(({ day = 0, ...choice }, index) => ({
    ...choice,
    id: String(index).padStart(4, '0'),
    node,
    jobId,
    at: day * dayMs + index * 1_000,
  }))

/** The fold after each event, with how much that counted. */
function stepsOf(events: readonly ReputationEvent[]) {
  let fold: ReputationFold = emptyFold
  return events.map((event) => {
    const before = fold
    fold = afterEvent(before, event)
    return { event, before, after: fold, counted: countedAfter(before, event) }
  })
}

// A plain comparison: millions of calls of `expect` take seconds.
function hold(holds: boolean, what: string, events: readonly ReputationEvent[]): void {
  if (!holds) throw new Error(`${what}: ${events.map(({ code }) => code).join()}`)
}

function* sequencesOf<T>(choices: readonly T[], length: number): Generator<readonly T[]> {
  if (length === 0) return yield []
  for (const rest of sequencesOf(choices, length - 1)) {
    for (const choice of choices) yield [...rest, choice]
  }
}

describe('what the jobs of all clients can take from a node in a day', () => {
  const choices: readonly Choice[] = [
    { code: 'answer-contradicted', client: clientOf(1) },
    { code: 'answer-differed', client: clientOf(1) },
    { code: 'lease-lapsed', client: 'newcomers' },
    { code: 'answered-late', client: 'newcomers' },
    { code: 'offer-lapsed', client: 'newcomers' },
    { code: 'answer-agreed', client: clientOf(1) },
    { code: 'answer-delivered', client: clientOf(1), again: true },
    { code: 'verdict-refuted', client: clientOf(1) },
    { code: 'output-refused', client: clientOf(1), day: 1 },
  ]
  const inDays = (sequence: readonly Choice[]) =>
    inOrder(eventsOf(sequence.toSorted((a, b) => (a.day ?? 0) - (b.day ?? 0))))

  it('is at most 5 of score and 36 of doubt, whatever else happens; provable faults count in full', () => {
    let seen = 0
    for (const sequence of sequencesOf(choices, 5)) {
      const events = inDays(sequence)
      const steps = stepsOf(events)
      // At 0 nothing can be lost, so that what is given back there is more than was taken.
      const isFloored = steps.some(({ after }) => after.standing.score === 0)
      const lost = new Map<number, number>()
      // What the day began with, and what was proved on it.
      let today = { day: -1, doubt: 0 }
      for (const { event, before, after, counted } of steps) {
        const worth = reputationCodes[event.code]
        const day = Math.floor(event.at / dayMs)
        if (day !== today.day) {
          today = { day, doubt: before.standing.doubtMillinats }
        }
        const score = after.standing.score - before.standing.score
        const doubt = after.standing.doubtMillinats - before.standing.doubtMillinats
        for (const count of ['completed', 'accepted', 'rejected'] as const) {
          hold(after.standing[count] - before.standing[count] === worth[count], count, events)
        }
        if (event.again) {
          hold(counted === 'again' && score === 0 && doubt === 0, 'again counts nothing', events)
        } else if (event.code === 'verdict-refuted') {
          today.doubt = Math.min(today.doubt + 6_900, maxDoubtMillinats)
          const isWhole = after.standing.score === Math.max(before.standing.score - 50, 0)
          hold(counted === 'full' && isWhole, 'what is proved counts in full', events)
        } else if (event.code === 'answer-agreed') {
          hold(counted === 'full' && score === 5, 'a gain counts in full', events)
        } else {
          lost.set(day, (lost.get(day) ?? 0) - score)
          const isFull = counted === 'full' && before.standing.score >= 5
          hold(!isFull || score === worth.score, 'a full loss is whole', events)
        }
        const moved = after.standing.doubtMillinats - today.doubt
        const { rise, fall } = dayAllowance
        hold(moved <= rise && moved >= -fall, 'doubt stays in its room', events)
      }
      for (const score of lost.values()) {
        // A late answer gives back what was lost, and no more.
        hold(isFloored || score >= 0, 'no more is given back', events)
        hold(score <= dayAllowance.score, 'no more is lost in a day', events)
      }
      seen++
    }
    expect(seen).toBe(9 ** 5)
  })

  it('is summed up over the day: good answers do not make up for more bad ones', () => {
    const agreed = { code: 'answer-agreed', client: clientOf(1) } as const
    const dissented = { code: 'answer-dissented', client: clientOf(1) } as const
    const doubtAfter = (days: number, ofDay: readonly Choice[]) =>
      standingOf(
        Array.from({ length: days }, (_, day) =>
          eventsOf(ofDay.map((choice) => ({ ...choice, day }))),
        )
          .flat()
          .map((event, index) => ({ ...event, id: `${index}` })),
      ).doubtMillinats
    const times = (count: number, choice: Choice) => Array.from({ length: count }, () => choice)
    // One in a hundred agrees: a day's doubt counts in full, in whatever order they came.
    expect(doubtAfter(20, [...times(99, dissented), agreed])).toBe(20 * 36)
    expect(doubtAfter(20, [agreed, ...times(99, dissented)])).toBe(20 * 36)
    // An honest node that differs now and then.
    expect(doubtAfter(20, [...times(5, agreed), dissented])).toBe(0)
    expect(doubtAfter(20, [dissented, ...times(5, agreed)])).toBe(0)
  })

  it('begins anew with the next UTC day, and not with the next client', () => {
    const bad = { code: 'answer-contradicted', client: clientOf(1) } as const
    const lossOf = (...more: readonly Choice[]) => {
      const { score, doubtMillinats } = standingOf(eventsOf([bad, ...more]))
      return [newcomer.score - score, doubtMillinats]
    }
    expect(lossOf()).toEqual([5, 36])
    expect(lossOf(bad, bad)).toEqual([5, 36])
    expect(lossOf({ ...bad, day: 1 })).toEqual([10, 72])
    expect(lossOf({ ...bad, client: clientOf(2) })).toEqual([5, 36])
    expect(lossOf({ ...bad, client: 'newcomers' })).toEqual([5, 36])
  })

  it('is nothing where most clients are content, and new clients take no doubt away', () => {
    const bad = { code: 'answer-contradicted', client: clientOf(1) } as const
    const good = { code: 'answer-agreed', client: clientOf(2) } as const
    const doubtAfter = (...choices: readonly Choice[]) =>
      standingOf(eventsOf([{ ...bad, day: -1 }, ...choices])).doubtMillinats
    expect(doubtAfter()).toBe(36)
    expect(doubtAfter(good)).toBe(18)
    expect(doubtAfter(good, { ...good, client: clientOf(3) })).toBe(18)
    expect(doubtAfter(good, bad)).toBe(18)
    expect(doubtAfter(good, bad, { ...bad, client: clientOf(3) })).toBe(54)
    expect(doubtAfter({ ...good, client: 'newcomers' })).toBe(36)
    expect(doubtAfter({ ...good, client: 'newcomers' }, bad)).toBe(36)
  })

  it('is given back by an answer that comes late, whichever of the two comes first, and no more', () => {
    const lapsed = { code: 'lease-lapsed', client: 'newcomers' } as const
    const late = { code: 'answered-late', client: 'newcomers' } as const
    const scoreOf = (...choices: readonly Choice[]) => standingOf(eventsOf(choices)).score
    expect(scoreOf(lapsed, late)).toBe(100)
    expect(scoreOf(late, lapsed)).toBe(100)
    expect(scoreOf(late, late, late)).toBe(100)
    expect(scoreOf(lapsed, lapsed, lapsed)).toBe(95)
    expect(scoreOf(lapsed, lapsed, late, lapsed)).toBe(95)
    // What another failing took stays taken, whichever came first.
    const silent = { code: 'never-delivered', client: 'newcomers' } as const
    expect(scoreOf(silent, lapsed, late)).toBe(95)
    expect(scoreOf(lapsed, silent, late)).toBe(95)
    expect(scoreOf(lapsed, late, silent)).toBe(95)
    expect(scoreOf(lapsed, lapsed, late)).toBe(95)
    // And nothing is given back that a score of 0 had not lost.
    const fault = { code: 'equivocated', client: 'newcomers' } as const
    expect(scoreOf(fault, lapsed, late)).toBe(0)
  })

  it('is said in words: in full, bounded, or not again', () => {
    const told = (...choices: readonly Choice[]): readonly Counted[] =>
      stepsOf(eventsOf(choices)).map(({ counted }) => counted)
    const lapsed = { code: 'offer-lapsed', client: clientOf(1) } as const
    expect(told(...Array.from({ length: 7 }, () => lapsed))).toEqual([
      ...['full', 'full', 'full', 'full', 'full', 'bounded', 'bounded'],
    ])
    expect(told({ code: 'answer-dissented', client: clientOf(1) })).toEqual(['bounded'])
    const delivered = { code: 'answer-delivered', client: clientOf(1) } as const
    expect(told(delivered, { ...delivered, again: true })).toEqual(['full', 'again'])
  })
})
