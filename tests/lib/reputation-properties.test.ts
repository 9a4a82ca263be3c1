import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  afterEvent,
  countedAfter,
  dayAllowance,
  emptyFold,
  inOrder,
  maxDoubtMillinats,
  newcomer,
  type ReputationCode,
  type ReputationEvent,
  type ReputationFold,
  reputationCodes,
  scoreAllowance,
  standingOf,
  utcDayOf,
  weightOf,
} from '../../lib/reputation.ts'
import { dayMs } from '../../lib/time.ts'
import { aJobId, anAddress } from '../branded.ts'

const node = anAddress(`0x${'a'.repeat(40)}`)
const jobId = aJobId(`0x${'1'.repeat(64)}`)
const clients = [
  ...[1, 2, 3, 4].map((digit) => anAddress(`0x${String(digit).repeat(40)}`)),
  'newcomers',
] as const
const codes = Object.keys(reputationCodes) as ReputationCode[]
const isProved = (code: ReputationCode) => code === 'verdict-refuted' || code === 'equivocated'

// Around midnight, where days change: whole and broken seconds, many of them equal.
const times = fc
  .tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: -3_000, max: 3_000 }))
  .map(([day, ms]) => day * dayMs + ms)
// Faults are rare: one alone takes all the weight, and hides what smaller things move.
const anyCode = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom(...codes.filter((code) => !isProved(code))) },
  { weight: 1, arbitrary: fc.constantFrom(...codes.filter(isProved)) },
)

const eventsOf = (options: fc.ArrayConstraints = { maxLength: 60 }) =>
  fc
    .array(
      fc.record({ code: anyCode, at: times, client: fc.constantFrom(...clients), dice: fc.nat(9) }),
      options,
    )
    .map((found) =>
      found.map(({ dice, ...event }, index): ReputationEvent => {
        const isGain = reputationCodes[event.code].doubtMillinats < 0
        const id = `${String(dice)}:${index}`
        return { ...event, id, node, jobId, ...(isGain && dice < 3 && { again: true }) }
      }),
    )

const startOf = fc.record({
  score: fc.integer({ min: 0, max: 1_000 }),
  doubtMillinats: fc.integer({ min: 0, max: maxDoubtMillinats }),
})

const { rise, fall } = dayAllowance

const holds = <Values>(property: fc.IProperty<Values>) => fc.assert(property, { numRuns: 400 })

const foldFrom = (
  start: Pick<ReputationFold['standing'], 'score' | 'doubtMillinats'>,
  events: readonly ReputationEvent[],
): ReputationFold =>
  inOrder(events).reduce(afterEvent, {
    standing: { ...newcomer, ...start },
    losses: { ...emptyFold.losses, day: -1 },
  })

describe('whatever a node did, its record', () => {
  it('is the same in whatever order its events are given, and wherever the fold is cut', () => {
    holds(
      fc.property(eventsOf(), fc.nat(), fc.nat(60), (events, mix, cut) => {
        const shuffled = events.toSorted(
          (a, b) => ((a.at * 7 + mix) % 101) - ((b.at * 7 + mix) % 101),
        )
        const wanted = standingOf(events)
        expect(standingOf(shuffled)).toEqual(wanted)
        const ordered = inOrder(events)
        const kept: ReputationFold = JSON.parse(
          JSON.stringify(ordered.slice(0, cut).reduce(afterEvent, emptyFold)),
        )
        expect(ordered.slice(cut).reduce(afterEvent, kept).standing).toEqual(wanted)
      }),
    )
  })

  it('counts each event once in the counters, and keeps score, doubt and weight within their bounds', () => {
    holds(
      fc.property(startOf, eventsOf(), (start, events) => {
        const { standing } = foldFrom(start, events)
        const sum = (name: 'completed' | 'accepted' | 'rejected') =>
          events.reduce((all, { code }) => all + reputationCodes[code][name], 0)
        expect([standing.completed, standing.accepted, standing.rejected]).toEqual([
          ...[sum('completed'), sum('accepted'), sum('rejected')],
        ])
        expect(standing.score).toBeGreaterThanOrEqual(0)
        expect(standing.score).toBeLessThanOrEqual(1_000)
        expect(standing.doubtMillinats).toBeGreaterThanOrEqual(0)
        expect(standing.doubtMillinats).toBeLessThanOrEqual(maxDoubtMillinats)
        expect(weightOf(standing)).toBeGreaterThanOrEqual(1)
        expect(weightOf(standing)).toBeLessThanOrEqual(200)
      }),
    )
  })

  it('tells of each event that it counted in full exactly when it did', () => {
    holds(
      fc.property(eventsOf(), (events) => {
        let fold = emptyFold
        for (const event of inOrder(events)) {
          const { score, doubtMillinats } = fold.standing
          const counted = countedAfter(fold, event)
          fold = afterEvent(fold, event)
          const worth = reputationCodes[event.code]
          const moved = fold.standing.score - score
          const doubt = fold.standing.doubtMillinats - doubtMillinats
          if (counted === 'again') expect([event.again, moved, doubt]).toEqual([true, 0, 0])
          if (counted !== 'full' || worth.score > 0 || score < -worth.score) continue
          expect(moved).toBe(worth.score)
        }
      }),
    )
  })
})

describe('what one client’s jobs say of a node in one UTC day', () => {
  it('takes at most its allowance from what the node has without them, then and ever after', () => {
    holds(
      fc.property(startOf, eventsOf(), fc.nat(4), fc.nat(4), (start, events, one, day) => {
        const isTheirs = ({ client, at, code }: ReputationEvent) =>
          client === clients[one] && utcDayOf(at) === day && !isProved(code)
        const lost = events.filter((event) => !isTheirs(event) || isLoss(event))
        const before = foldFrom(start, lost)
        const without = foldFrom(
          start,
          lost.filter((event) => !isTheirs(event)),
        )
        expect(without.standing.score - before.standing.score).toBeLessThanOrEqual(
          dayAllowance.score,
        )
        expect(before.standing.doubtMillinats).toBeLessThanOrEqual(
          without.standing.doubtMillinats + dayAllowance.rise,
        )
      }),
    )
  })

  it('moves its doubt by no more than a day’s whole room, however many answers they are', () => {
    holds(
      fc.property(startOf, eventsOf(), fc.nat(4), fc.nat(4), (start, events, one, day) => {
        const isTheirs = ({ client, at, code }: ReputationEvent) =>
          client === clients[one] && utcDayOf(at) === day && !isProved(code)
        const withThem = foldFrom(start, events).standing.doubtMillinats
        const without = foldFrom(
          start,
          events.filter((event) => !isTheirs(event)),
        ).standing.doubtMillinats
        expect(withThem - without).toBeLessThanOrEqual(rise)
        expect(without - withThem).toBeLessThanOrEqual(rise + fall)
      }),
    )
  })

  it('takes at most a tenth of the weight that it would have had in the evening, with any number of wallets', () => {
    const unproved = eventsOf().map((events) =>
      events
        .filter(({ code }) => !isProved(code))
        .map((event, index) => ({ ...event, at: dayMs + index * 1_000 })),
    )
    const owners = fc.subarray([...clients])
    holds(
      fc.property(startOf, unproved, owners, (start, events, owner) => {
        const isTheirs = ({ client }: ReputationEvent) => owner.some((name) => name === client)
        const taken = weightOf(foldFrom(start, events).standing)
        const others = events.filter((event) => !isTheirs(event))
        const alone = weightOf(foldFrom(start, others).standing)
        expect(taken).toBeGreaterThanOrEqual(Math.floor(0.9 * alone) - 1)
      }),
    )
  })

  it('is the same doubt at the end of the day in whatever order it was said', () => {
    const onOneDay = eventsOf().map((events) =>
      events.map((event, index) => ({ ...event, at: dayMs + index * 1_000 })),
    )
    holds(
      fc.property(startOf, onOneDay, (start, events) => {
        const turned = events.map((event, index) => ({
          ...event,
          at: dayMs + (events.length - index) * 1_000,
        }))
        expect(foldFrom(start, turned).standing.doubtMillinats).toBe(
          foldFrom(start, events).standing.doubtMillinats,
        )
      }),
    )
  })
})

const isLoss = ({ code }: ReputationEvent): boolean => {
  const { score, doubtMillinats } = reputationCodes[code]
  return score < 0 || doubtMillinats > 0
}

describe('an owner without nodes, by wallets of which none is a week old,', () => {
  it('takes at most a tenth of any node’s weight in a day, in whole numbers', () => {
    const days = eventsOf({ minLength: 1, maxLength: 40 }).map((events) =>
      events
        .filter(({ code }) => !isProved(code))
        .map((event) => ({
          ...event,
          at: dayMs + (event.at % dayMs),
          client: 'newcomers' as const,
        })),
    )
    holds(
      fc.property(startOf, days, (start, events) => {
        const day = events.filter(({ at }) => utcDayOf(at) === 1)
        const { standing } = foldFrom(start, day)
        expect(weightOf(standing)).toBeGreaterThanOrEqual(Math.floor(0.9 * weightOf(start)) - 1)
      }),
    )
  })

  it('takes no more on any later day of a month, when the weight is low', () => {
    const losses = codes.filter((code) => !isProved(code) && isLoss({ code } as ReputationEvent))
    let fold = emptyFold
    for (let day = 1; day <= 60; day++) {
      const before = weightOf(fold.standing)
      for (const [index, code] of losses.entries()) {
        fold = afterEvent(fold, { code, at: day * dayMs + index * 1_000, client: 'newcomers' })
      }
      const least = Math.floor(0.9 * before) - 1
      expect([day, weightOf(fold.standing) >= least]).toEqual([day, true])
      expect(scoreAllowance(fold.standing.score)).toBeLessThanOrEqual(dayAllowance.score)
    }
  })
})

describe('a provable fault', () => {
  it('counts in full, however many clients are content on the same day', () => {
    const content = (count: number, at: number): readonly ReputationEvent[] =>
      Array.from({ length: count }, (_, index) => ({
        ...{ id: `${index}`, node, jobId, code: 'answer-agreed' as const, at },
        client: anAddress(`0x${index.toString(16).padStart(40, '0')}`),
      }))
    for (const code of ['verdict-refuted', 'equivocated'] as const) {
      const fault: ReputationEvent = { id: 'fault', node, jobId, code, at: dayMs + 5_000 }
      for (const at of [dayMs, dayMs + 9_000]) {
        const { doubtMillinats } = standingOf([fault, ...content(500, at)])
        expect([code, doubtMillinats]).toEqual([code, reputationCodes[code].doubtMillinats])
      }
    }
  })

  it('leaves at least its own doubt at the end of its day', () => {
    holds(
      fc.property(startOf, eventsOf({ minLength: 1, maxLength: 60 }), (start, events) => {
        const last = utcDayOf(Math.max(...events.map(({ at }) => at)))
        const proved = events
          .filter(({ at, code }) => utcDayOf(at) === last && isProved(code))
          .reduce((sum, { code }) => sum + reputationCodes[code].doubtMillinats, 0)
        const { doubtMillinats } = foldFrom(start, events).standing
        expect(doubtMillinats).toBeGreaterThanOrEqual(Math.min(proved, maxDoubtMillinats))
      }),
    )
  })
})
