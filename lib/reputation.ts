import type { Address, Hash32, JobId } from './codecs.ts'
import { dayMs, toSeconds } from './time.ts'

type Worth = {
  readonly completed: 0 | 1
  readonly accepted: 0 | 1
  readonly rejected: 0 | 1
  readonly score: number
  readonly doubtMillinats: number
}

const worth = (
  [completed, accepted, rejected]: readonly [0 | 1, 0 | 1, 0 | 1],
  score: number,
  doubtMillinats: number,
): Worth => ({ completed, accepted, rejected, score, doubtMillinats })

/** The highest doubt: a million to one that the node is faulty. */
export const maxDoubtMillinats = 13_800

/**
 * What each event of a node adds to its counters, its score and its doubt. A doubt is 1,000 times the natural logarithm of how much
 * likelier the event is for a node that takes one answer in four from elsewhere than for an honest node.
 */
export const reputationCodes = {
  'answer-delivered': worth([1, 1, 0], 10, -287),
  'answer-agreed': worth([1, 1, 0], 5, -287),
  'answer-contradicted': worth([1, 0, 1], -5, 774),
  'answer-dissented': worth([1, 0, 0], 0, 279),
  'answer-likely': worth([1, 0, 0], 0, 0),
  'answer-unlikely': worth([1, 0, 1], -5, 3_000),
  'answer-differed': worth([1, 0, 0], 0, 0),
  'answer-undecided': worth([1, 0, 0], 0, 0),
  'never-delivered': worth([0, 0, 0], -5, 260),
  'output-refused': worth([0, 0, 1], -10, 774),
  'never-checked': worth([0, 0, 0], -5, 0),
  'verdict-outvoted': worth([0, 0, 0], -5, 260),
  'never-shown': worth([1, 0, 0], -5, 3_000),
  'never-weighed': worth([0, 0, 0], -5, 0),
  'numbers-odd': worth([0, 0, 0], -5, 774),
  'never-revealed': worth([0, 0, 0], -5, 260),
  'lease-lapsed': worth([0, 0, 0], -5, 0),
  'answered-late': worth([0, 0, 0], 5, 0),
  'offer-lapsed': worth([0, 0, 0], -1, 0),
  'verdict-refuted': worth([0, 0, 1], -50, 6_900),
  equivocated: worth([0, 0, 1], -200, maxDoubtMillinats),
  slashed: worth([0, 0, 0], 0, 0),
  'slash-dismissed': worth([0, 0, 0], 0, 0),
} as const satisfies Record<string, Worth>

export type ReputationCode = keyof typeof reputationCodes

/** True for a code that this version knows. */
export const isReputationCode = (code: string): code is ReputationCode =>
  Object.hasOwn(reputationCodes, code)

/** Whose allowance an event uses: its client's, or the one that all new clients share. */
export type AllowanceHolder = Address | typeof newClients

const newClients = 'newcomers'

/** One event of a node. Its id makes it count once. */
export type ReputationEvent = {
  readonly id: string
  readonly node: Address
  readonly jobId: JobId
  readonly code: ReputationCode
  /** Milliseconds. Only whole seconds count for the order. */
  readonly at: number
  /** For `slashed`: what the node lost, in gwei. */
  readonly amountGwei?: number | undefined
  readonly client?: AllowanceHolder | undefined
  /** For gains: the hash of the other nodes of the agreement. */
  readonly partners?: Hash32 | undefined
  /** The same partners already brought the node a gain on this UTC day, so this event counts for nothing. */
  readonly again?: true | undefined
}

/** A node's standing: the fold of its events (spec 2.2). */
export type Standing = {
  readonly completed: number
  readonly accepted: number
  readonly rejected: number
  readonly score: number
  /** From 0, when nothing speaks against the node, to `maxDoubtMillinats`. */
  readonly doubtMillinats: number
  readonly slashedGwei: number
}

const startScore = 100
const maxScore = 1_000

/** The standing of a node without events. */
export const newcomer: Standing = {
  completed: 0,
  accepted: 0,
  rejected: 0,
  score: startScore,
  doubtMillinats: 0,
  slashedGwei: 0,
}

/**
 * How far the jobs of all clients together can move a node in one UTC day, apart from provable faults. `score` and `rise` are the most that
 * they take: at most a tenth of the node's weight, however many wallets an owner has. A score below 81 at the start of the day falls by
 * less (`scoreAllowance`). One client's doubts are summed up and count at most `client` either way, so one good answer does not make up for
 * many bad ones, and no client outweighs the others. `fall` is less than `rise`, so a cheat that feeds itself cannot take back what others
 * found.
 */
export const dayAllowance = { score: 5, client: 36, rise: 36, fall: 18 } as const

/** The most that a day's jobs can take of the score at the start of the day: a 20th, rounded up, 5 at most. */
export const scoreAllowance = (score: number): number =>
  Math.min(dayAllowance.score, Math.ceil(score / 20))

/** A node's UTC day (days since 1970), before the allowances bound it. */
type Day = {
  readonly day: number
  /** The score at the start of the day. */
  readonly scoreBefore: number
  /** The doubt without the events in `doubts` and `proved`. */
  readonly doubtBefore: number
  /** The doubt of the day's provable faults, for which no number of good answers of the same day makes up. */
  readonly proved: number
  /** Losses of score without lapsed leases, which alone a late answer makes up for. */
  readonly losses: number
  /** Losses by lapsed leases, less what late answers made up for; below 0 while their lapses of the same second are still to come. */
  readonly lapses: number
  /** What the losses took of the score in fact, so that no more is given back. */
  readonly taken: number
  /** The doubts from the day's jobs, by the client whose allowance each event uses. */
  readonly doubts: Readonly<Record<string, number>>
}

const emptyDay: Omit<Day, 'day' | 'scoreBefore' | 'doubtBefore'> = {
  ...{ proved: 0, losses: 0, lapses: 0, taken: 0 },
  doubts: {},
}

/** The fold of a node's events: its standing, and how far the allowances of the last event's day are used. */
export type ReputationFold = { readonly standing: Standing; readonly losses: Day }

/** The fold of no events. */
export const emptyFold: ReputationFold = {
  standing: newcomer,
  losses: { ...emptyDay, day: 0, scoreBefore: startScore, doubtBefore: 0 },
}

/** How much of its code's worth an event counts: in full, as far as the day's allowance goes, or not at all for the same partners. */
export type Counted = 'full' | 'bounded' | 'again'

type FoldedEvent = Pick<ReputationEvent, 'code' | 'at' | 'amountGwei' | 'client' | 'again'>

const isProvable = (code: ReputationCode): boolean =>
  code === 'verdict-refuted' || code === 'equivocated' || code === 'slashed'

const within = (value: number, most: number, least = 0): number =>
  Math.min(Math.max(value, least), most)

/** Returns by how much an event moves the score, and the day after it. */
function dayAfter(
  { standing, losses }: ReputationFold,
  event: FoldedEvent,
): { readonly score: number; readonly today: Day } {
  const { score, doubtMillinats }: Worth = reputationCodes[event.code]
  const day = utcDayOf(event.at)
  const { score: scoreBefore, doubtMillinats: doubtBefore } = standing
  const today = losses.day === day ? losses : { ...emptyDay, day, scoreBefore, doubtBefore }
  if (event.again) return { score: 0, today }
  if (isProvable(event.code)) {
    return { score, today: { ...today, proved: today.proved + doubtMillinats } }
  }
  if (event.client === undefined) {
    const unbound = within(today.doubtBefore + doubtMillinats, maxDoubtMillinats)
    return { score, today: { ...today, doubtBefore: unbound } }
  }
  const own = withLoss(today, event.code)
  const most = scoreAllowance(today.scoreBefore)
  const due = lossOf(today, most) - lossOf(own, most)
  const isLoss = own !== today
  const moved = isLoss ? within(due, today.taken, -standing.score) : score
  const taken = isLoss ? today.taken - moved : today.taken
  const said = (today.doubts[event.client] ?? 0) + doubtMillinats
  return {
    score: moved,
    today: { ...own, taken, doubts: { ...today.doubts, [event.client]: said } },
  }
}

/** Returns the day after a loss, or after an answer that made up for one; the same object after anything else. */
function withLoss(day: Day, code: ReputationCode): Day {
  const { score }: Worth = reputationCodes[code]
  if (code === 'lease-lapsed' || code === 'answered-late') {
    return { ...day, lapses: Math.max(day.lapses - score, reputationCodes['lease-lapsed'].score) }
  }
  return score < 0 ? { ...day, losses: day.losses - score } : day
}

/** The sum of a day's losses, within its allowance. */
const lossOf = ({ losses, lapses }: Day, most: number): number =>
  Math.min(losses + Math.max(lapses, 0), most)

/**
 * Returns the doubt after a day's events. The sum over all clients raises it. Praise lowers it apart from that sum, or an owner of wallets
 * could cancel the praise too. New clients lower nothing: they share one sum, which any of them can turn.
 */
function doubtOf({ doubtBefore, proved, doubts }: Day): number {
  const { client: most, rise, fall } = dayAllowance
  const said = Object.entries(doubts).map(
    ([client, doubt]) => [client, within(doubt, most, -most)] as const,
  )
  const sum = said.reduce((total, [, doubt]) => total + doubt, 0)
  const praise = said.reduce(
    (total, [client, doubt]) => total + (client === newClients ? 0 : Math.max(-doubt, 0)),
    0,
  )
  const moved = within(sum, rise) - Math.min(praise, fall)
  return within(within(doubtBefore + moved, maxDoubtMillinats) + proved, maxDoubtMillinats)
}

/** Returns the fold after one more event, which must not be from an earlier second than the previous ones. */
export function afterEvent(fold: ReputationFold, event: FoldedEvent): ReputationFold {
  const { standing } = fold
  const { completed, accepted, rejected }: Worth = reputationCodes[event.code]
  const { score, today } = dayAfter(fold, event)
  return {
    standing: {
      completed: standing.completed + completed,
      accepted: standing.accepted + accepted,
      rejected: standing.rejected + rejected,
      score: within(standing.score + score, maxScore),
      doubtMillinats: doubtOf(today),
      slashedGwei: standing.slashedGwei + (event.amountGwei ?? 0),
    },
    losses: today,
  }
}

/** Returns how much an event counts after those in `fold`. A gain is not called bounded: without doubt it has nothing to lower. */
export function countedAfter(fold: ReputationFold, event: FoldedEvent): Counted {
  if (event.again) return 'again'
  const worth: Worth = reputationCodes[event.code]
  if (isProvable(event.code) || event.client === undefined) return 'full'
  const { score, today } = dayAfter(fold, event)
  const doubt = doubtOf(today) - fold.standing.doubtMillinats
  const isWhole =
    score === worth.score && (worth.doubtMillinats <= 0 || doubt === worth.doubtMillinats)
  return isWhole ? 'full' : 'bounded'
}

/** The UTC day of a time in milliseconds, as days since 1970. */
export const utcDayOf = (at: number): number => Math.floor(at / dayMs)

const secondsOf = ({ at }: Pick<ReputationEvent, 'at'>): number => toSeconds(at)

/** Sorts events into the order in which they count: by second, then by id. */
export const inOrder = <T extends Pick<ReputationEvent, 'at' | 'id'>>(
  events: readonly T[],
): readonly T[] =>
  events.toSorted((a, b) => secondsOf(a) - secondsOf(b) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))

/** Folds events into a standing, in whatever order they are given. */
export const standingOf = (events: readonly ReputationEvent[]): Standing =>
  inOrder(events).reduce(afterEvent, emptyFold).standing

/** The highest weight of a node, twice a newcomer's, however long it has fed itself. */
export const maxWeight = 200

// The natural logarithm of 2, in thousandths.
const millinatsOfHalf = 693

/**
 * Returns a node's weight in the draw: its score, 200 at most, halved for each 693 thousandths of doubt, and interpolated in between, so
 * that no single event halves it. Even the worst node keeps a small chance. Integers only.
 */
export const weightOf = ({
  score,
  doubtMillinats,
}: Pick<Standing, 'score' | 'doubtMillinats'>): number => {
  const halvings = Math.floor(doubtMillinats / millinatsOfHalf)
  const left = 2 * millinatsOfHalf - (doubtMillinats % millinatsOfHalf)
  const weight = Math.floor((Math.min(score, maxWeight) * left) / (2 * millinatsOfHalf))
  return Math.max(weight >> halvings, 1)
}
