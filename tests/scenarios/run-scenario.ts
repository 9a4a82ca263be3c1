import type { Job } from '../../icl/rules/job.ts'
import type { Store } from '../../icl/store/store.ts'
import type { Address } from '../../lib/codecs.ts'
import {
  afterEvent,
  emptyFold,
  inOrder,
  newcomer,
  type ReputationEvent,
  type Standing,
  standingOf,
  weightOf,
} from '../../lib/reputation.ts'
import { coordinator } from '../icl/fake-chain.ts'
import { origin } from '../icl/test-icl.ts'
import { sampleNetwork } from '../sample-network.ts'
import { runClient } from '../simulation/client.ts'
import type { Conduct, SimulatedNode } from '../simulation/node.ts'
import { createWorld } from '../simulation/world.ts'
import { honest, type Outputs, rightAnswer } from './conducts.ts'

/** A node that does not do as it should. */
export type Cheat = {
  readonly name: string
  readonly conduct: Conduct
  /** What comes of its output. */
  readonly output?: 'output-unavailable' | 'output-mismatch'
}

/** What to simulate. */
export type Plan = {
  readonly seed: number
  readonly jobs: number
  readonly honestNodes: number
  readonly cheats: readonly Cheat[]
  /** Asked before each job, with how the cheats stand: true when no more jobs are needed. */
  readonly isEnough?: ((cheats: readonly Standing[]) => boolean) | undefined
}

/** A node after a simulation. */
export type NodeOutcome = {
  readonly name: string
  readonly address: Address
  readonly isHonest: boolean
  readonly standing: Standing
  readonly weight: number
  readonly events: readonly ReputationEvent[]
  /** Jobs that it had a part in, in the order in which they were made. */
  readonly parts: readonly Job[]
  /** After how many of its parts it was first scored for something bad; undefined when it never was. */
  readonly seenAfter: number | undefined
  /** After how many of its parts its weight was below half of a newcomer's; undefined when it never was. */
  readonly avoidedAfter: number | undefined
}

/** What came of a simulation. */
export type Outcome = {
  readonly seed: number
  /** In the order in which they were made. */
  readonly jobs: readonly Job[]
  readonly nodes: readonly NodeOutcome[]
  /** Operators that were accused on chain. */
  readonly accused: ReadonlySet<Address>
  /** Promises of the store and chain that were broken. */
  readonly broken: readonly string[]
}

const calm = { minedMs: [100, 400], lostAnswers: 0 } as const
const stake = 10n ** 18n

/** Runs jobs through a real ICL with simulated nodes, some of which cheat, on a virtual clock. */
export async function runScenario(plan: Plan): Promise<Outcome> {
  const network = sampleNetwork({
    public_url: origin,
    chain_id: 31_337,
    coordinator,
    slash_wei: stake,
  })
  const world = createWorld(plan.seed, calm, { network })
  const { clock, dice } = world
  await world.addReplica()
  const outputs: Outputs = new Map()
  const habits = { slots: 2, thinkMs: [1_000, 6_000], answer: rightAnswer } as const
  for (let index = 0; index < plan.honestNodes; index++) {
    await world.addNode(`seed ${plan.seed} honest ${index}`, {
      ...habits,
      conduct: honest(outputs),
    })
  }
  const cheats: SimulatedNode[] = []
  for (const { name, conduct, output } of plan.cheats) {
    const full = { ...honest(outputs), ...conduct }
    const node = await world.addNode(`seed ${plan.seed} ${name}`, { ...habits, conduct: full })
    if (output) outputs.set(node.address, output)
    cheats.push(node)
  }
  const clients = Array.from({ length: plan.jobs }, async (_, index) => {
    await clock.sleep(index * 1_500 + dice.between(0, 1_000))
    if (plan.isEnough?.(await standingsOf(world.store, cheats))) return undefined
    return runClient(world, `seed ${plan.seed} client ${index % 40}`, 4_000)
  })
  await clock.until(Promise.all(clients))
  // What is left in the outboxes is scored, and whom to slash is said.
  await clock.advance(60_000)
  const jobs = (await world.jobs()).toSorted((a, b) => a.createdAt - b.createdAt)
  const events: ReputationEvent[] = []
  for await (const record of world.store.scan()) {
    if (record.kind === 'event') events.push(record.event)
  }
  const outcome = {
    seed: plan.seed,
    jobs,
    nodes: world.nodes.map((node) => outcomeOf(node, cheats.includes(node), jobs, events)),
    accused: new Set(world.chain.proposals.map(({ operator }) => operator)),
    broken: await world.broken(),
  }
  await clock.until(world.end())
  return outcome
}

const standingsOf = (
  store: Pick<Store, 'findNode'>,
  nodes: readonly SimulatedNode[],
): Promise<readonly Standing[]> =>
  Promise.all(
    nodes.map(
      async ({ address }) => (await store.findNode(address))?.document.standing ?? newcomer,
    ),
  )

function outcomeOf(
  { name, address }: SimulatedNode,
  isCheat: boolean,
  jobs: readonly Job[],
  all: readonly ReputationEvent[],
): NodeOutcome {
  const events = inOrder(all.filter(({ node }) => node === address))
  const parts = jobs.filter(({ assignments }) => assignments.some(({ node }) => node === address))
  const standing = standingOf(events)
  return {
    name: name.replace(/^seed -?\d+ /, ''),
    address,
    isHonest: !isCheat,
    standing,
    weight: weightOf(standing),
    events,
    parts,
    seenAfter: partsUntil(parts, events, (_, { code }) => isBad(code)),
    avoidedAfter: partsUntil(parts, events, (now) => 2 * weightOf(now) < weightOf(newcomer)),
  }
}

const isBad = (code: ReputationEvent['code']): boolean => {
  const { standing } = afterEvent(emptyFold, { code, at: 0 })
  return standing.score < newcomer.score
}

/** How many of its parts a node had begun when its events first met a condition. */
function partsUntil(
  parts: readonly Job[],
  events: readonly ReputationEvent[],
  isMet: (standing: Standing, event: ReputationEvent) => boolean,
): number | undefined {
  let fold = emptyFold
  for (const event of events) {
    fold = afterEvent(fold, event)
    if (isMet(fold.standing, event)) return parts.findIndex(({ id }) => id === event.jobId) + 1
  }
  return undefined
}
