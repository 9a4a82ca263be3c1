import { decide, type Placed, type Quota, quotaOf } from '../../../lib/agreement-rule.ts'

/** The most seats of a job. */
export const seats = 7

/** Which of a job's answers match: one bit for each two seats, those of the earlier seats lower. */
export type MatchGraph = number

/** The bit of two different seats. */
export const pairBit = (one: number, other: number): number => {
  const [low, high] = one < other ? [one, other] : [other, one]
  return 1 << ((high * (high - 1)) / 2 + low)
}

/** A rule of agreement as it is measured. */
export type MeasuredRule = {
  readonly name: string
  readonly quota: Quota
}

const quotaFor = (rule: 'three' | 'any-two' | 'majority'): Quota => {
  const found = quotaOf({ rule, quorum: 3, listLength: 9 })
  if (found.outcome === 'refused') throw new Error(found.why)
  return found.quota
}

const names = ['three', 'any-two', 'majority'] as const

/** The service's rules. */
export const measuredRules: readonly MeasuredRule[] = names.map((name) => ({
  name,
  quota: quotaFor(name),
}))

/** How a job ended, and how many inferences it took. */
export type Played = {
  /** The seats whose answers were accepted; empty for a dispute. */
  readonly accepted: readonly number[]
  readonly inferences: number
}

/** Runs one job whose answers match as the graph says. */
export function playJob(graph: MatchGraph, { quota }: MeasuredRule): Played {
  const answers: Placed[] = []
  const isMatch = (one: Placed, other: Placed) =>
    (graph & pairBit(one.position, other.position)) !== 0
  for (let batch = 0; ; batch++) {
    const decision = decide(answers, isMatch, quota)
    if (decision.outcome !== 'more') {
      const group = decision.outcome === 'accepted' ? decision.group : []
      return { accepted: group.map(({ position }) => position), inferences: answers.length }
    }
    for (let added = 0; added < decision.count; added++) {
      answers.push({ batch, position: answers.length })
    }
  }
}

/** How likely a ring gets its lie accepted, by its share of the weight. */
export const ringShares = [0.01, 0.05, 0.1] as const

/**
 * The chance that a ring gets its lie accepted, for each of `ringShares`: each seat is the ring's with that chance, the ring's answers match one
 * another and no honest one, and the honest seats give the graph's answers in their order. All divisions of the seats are counted, none drawn.
 */
export function lieChances(honest: MatchGraph, rule: MeasuredRule): readonly number[] {
  const { maxAnswers, needed } = rule.quota
  const wins = new Array<number>(maxAnswers + 1).fill(0)
  for (let ring = 1; ring < 1 << maxAnswers; ring++) {
    const members = Array.from({ length: maxAnswers }, (_, seat) => (ring >> seat) & 1)
    const size = members.filter((isMember) => isMember === 1).length
    if (size < needed) continue
    const [first] = playJob(withRing(honest, members), rule).accepted
    if (first !== undefined && members[first] === 1) wins[size] = (wins[size] ?? 0) + 1
  }
  return ringShares.map((share) =>
    wins.reduce(
      (sum, won, size) => sum + won * share ** size * (1 - share) ** (maxAnswers - size),
      0,
    ),
  )
}

function withRing(honest: MatchGraph, members: readonly number[]): MatchGraph {
  let graph = 0
  // The place of each honest seat among the honest ones.
  let honestSeats = 0
  const places = members.map((isMember) => (isMember === 1 ? -1 : honestSeats++))
  for (let one = 1; one < members.length; one++) {
    for (let other = 0; other < one; other++) {
      const [a = -1, b = -1] = [places[one], places[other]]
      const isRing = a < 0 && b < 0
      const isHonest = a >= 0 && b >= 0 && (honest & pairBit(a, b)) !== 0
      if (isRing || isHonest) graph |= pairBit(one, other)
    }
  }
  return graph
}
