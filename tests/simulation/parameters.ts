import type { ComparatorId } from '../../lib/codecs.ts'
import type { Dice } from './dice.ts'

/**
 * Where a simulation keeps what the ICL remembers: several replicas share one in memory, a sqlite file has one ICL, and so has a
 * file that a database follows.
 */
export type StoreKind = 'memory' | 'sqlite' | 'mirror'

/** A node that does not do as it should. */
export type CheatKind = (typeof cheatKinds)[number]

const cheatKinds = [
  'colluder',
  'copier',
  'denier',
  'equivocator',
  'late',
  'lazy',
  'liar',
  'never-delivers',
  'never-reveals',
  'silent',
] as const

/** What can happen to a simulated world from outside, for a while. */
const faultKinds = [
  'chain-away',
  'chain-reorganised',
  'chain-throttled',
  'coprocessor-fails',
  'node-killed',
  'node-stopped',
  'partition',
  'provider-fails',
  'replica-frozen',
  'replica-killed',
  'replica-stopped',
  'store-away',
] as const
export type FaultKind = (typeof faultKinds)[number] | 'database-away'

/** Everything about a simulated world that its seed decides. */
export type Parameters = {
  readonly store: StoreKind
  readonly replicas: number
  readonly nodes: number
  readonly cheats: readonly CheatKind[]
  readonly customers: number
  readonly jobs: number
  readonly comparator: ComparatorId
  /** Whether jobs ask checkers for numbers, which cheats do not tell. */
  readonly check: boolean
  /** How long faults happen, in milliseconds. */
  readonly unsafeMs: number
  /** Milliseconds from one fault to the next, on average. */
  readonly faultEveryMs: number
  readonly faults: readonly FaultKind[]
  readonly loss: number
  readonly duplicates: number
  readonly delays: number
  readonly lostAnswers: number
  /** How likely a node dies whenever it writes to its journal. */
  readonly dies: number
  readonly disagrees: number
  readonly hangs: number
  /** The farthest that clocks of nodes and clients are off, in milliseconds. */
  readonly skewMs: number
}

/** What goes wrong with a mirror beside the rest: its database is away, and the ICL ends meanwhile. */
const mirrorFaults = [
  ...Array.from({ length: 4 }, () => 'database-away' as const),
  ...(['replica-killed', 'replica-stopped'] as const),
]

const mostSkewMs = 300_000
/** The fewest nodes that a service works with: each of them has to answer every job. */
const smallestPool = 3

/** Draws a world. */
export function drawParameters(dice: Dice, store: StoreKind): Parameters {
  const sometimes = (most: number, probability = 0.6) =>
    dice.chance(probability) ? dice.next() * most : 0
  const isCheating = dice.chance(0.35)
  const drawn: Parameters = {
    store,
    replicas: store === 'memory' ? dice.between(1, 3) : 1,
    nodes: dice.between(4, 7),
    cheats: isCheating
      ? Array.from({ length: dice.between(1, 2) }, () => dice.pick(cheatKinds))
      : [],
    customers: dice.between(1, 3),
    jobs: dice.between(2, 5),
    comparator: dice.chance(0.8) ? 'exact' : 'similar/2',
    check: !isCheating && dice.fork('numbers').chance(0.25),
    unsafeMs: dice.between(90, 240) * 1000,
    faultEveryMs: dice.between(4, 30) * 1000,
    faults: [
      ...faultKinds.filter(() => dice.chance(0.5)),
      ...(store === 'mirror' ? mirrorFaults : []),
    ],
    loss: sometimes(0.15),
    duplicates: sometimes(0.1),
    delays: sometimes(0.1),
    lostAnswers: sometimes(0.02),
    dies: sometimes(0.04, 0.5),
    disagrees: sometimes(0.3, 0.3),
    hangs: sometimes(0.1, 0.3),
    skewMs: dice.pick([0, 1_000, 30_000, mostSkewMs]),
  }
  if (!dice.fork('pool').chance(0.15)) return drawn
  // Two cheats of three would be the agreement.
  const cheats = drawn.cheats.slice(0, 1)
  return { ...drawn, cheats, nodes: smallestPool - cheats.length }
}
