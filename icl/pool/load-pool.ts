import type { Clock } from '../../lib/clock.ts'
import { type Address, ComparatorId } from '../../lib/codecs.ts'
import { firstPositions } from '../../lib/list.ts'
import type { PoolNode } from '../../lib/pool-line.ts'
import { type Takes, takesOf } from '../../lib/prompt-needs.ts'
import { weightOf } from '../../lib/reputation.ts'
import type { PassReason } from '../../lib/schemas/list.ts'
import { type ModelTakes, PromptPart } from '../../lib/schemas/prompt-needs.ts'
import type { ReadingGrant } from '../../lib/schemas/reading.ts'
import { mapInSlices } from '../async/slices.ts'
import type { Chain } from '../chain/chain.ts'
import type { Outages } from '../records/outages.ts'
import {
  type ChainNode,
  type Demand,
  defaultComparators,
  hasWithdrawn,
  ineligibleReasons,
  servedTiers,
} from '../rules/eligibility.ts'
import { type Job, type MemberState, occupiesSlot, passReasonOf } from '../rules/job.ts'
import type { OccupiedSlots, Store } from '../store/store.ts'
import type { KnownNode, Pool } from './pool.ts'

/** The sources of what is known about nodes. */
export type PoolSources = {
  readonly clock: Clock
  readonly store: Store
  readonly chain: Chain
  readonly pool: Pool
  readonly outages: Outages
}

/** Returns what a job requires of a node. */
export const demandOf = ({ modelId, minTier, comparator, list }: Job): Demand => ({
  modelId,
  minTier,
  comparator,
  needs: list.terms.needs,
})

/**
 * Calls `work` with every node of the pool and why it cannot be drawn for a demand now, and returns all that it returns. Throws when the
 * chain does not answer: an empty result would end jobs.
 */
export async function mapPool<R>(
  { pool, outages, clock }: PoolSources,
  demand: Demand,
  work: (known: KnownNode, reasons: ReturnType<typeof ineligibleReasons>) => readonly R[],
): Promise<readonly R[]> {
  const [nodes, ended] = await Promise.all([pool.nodes(), outages.known()])
  const now = clock.now()
  return mapInSlices(clock, nodes, (known) =>
    work(known, ineligibleReasons(known.node, known.chain, demand, now, ended)),
  )
}

/** Returns every node that meets a demand now. Throws what `mapPool` throws. */
export const loadEligible = (deps: PoolSources, demand: Demand): Promise<readonly KnownNode[]> =>
  mapPool(deps, demand, (known, reasons) => (reasons.length === 0 ? [known] : []))

/** Returns every node that is active now, busy or not, with everything that a draw depends on, by address. */
export async function loadPoolNodes(deps: PoolSources): Promise<readonly PoolNode[]> {
  return mapInSlices(deps.clock, await loadEligible(deps, { minTier: 0 }), asPublished)
}

function asPublished({ node, chain }: KnownNode): readonly PoolNode[] {
  const names = node.comparators ?? defaultComparators
  const models = [...new Set(node.modelIds)].toSorted((a, b) => (a < b ? -1 : 1))
  const takes = models.flatMap((id) => publishedTakes(id, takesOf(node.takes, id)))
  const comparators = ComparatorId.options.filter((id) => names.includes(id)).toSorted()
  return [
    {
      address: node.address,
      weight: weightOf(node.standing),
      tiers: [...new Set(servedTiers(node, chain))].toSorted((a, b) => a - b),
      models,
      ...(takes.length > 0 && { takes }),
      comparators,
    },
  ]
}

function publishedTakes(model_id: string, takes: Takes | undefined): readonly ModelTakes[] {
  if (!takes) return []
  const { parts: names, ...sizes } = takes
  const parts = PromptPart.options.filter((part) => names.includes(part)).toSorted()
  const { max_prompt_bytes: bytes, max_output_tokens: tokens } = takes
  return parts.length === 0 && bytes === undefined && tokens === undefined
    ? []
    : [{ ...sizes, model_id, parts }]
}

/** Returns the state of each member of a list for a job that ends at `deadline`, from the cached pool. Throws when the chain does not answer. */
export async function memberStates(
  deps: PoolSources,
  members: readonly Address[],
  demand: Demand,
  deadline = Number.POSITIVE_INFINITY,
): Promise<readonly MemberState[]> {
  const [known, busy, outages] = await Promise.all([
    deps.pool.find(members),
    deps.pool.busy(),
    deps.outages.known(),
  ])
  const now = deps.clock.now()
  return members.map((address) => {
    const entry = known.get(address)
    if (!entry) return 'certificate-expired'
    const [reason] = ineligibleReasons(entry.node, entry.chain, demand, now, outages)
    if (reason === 'no-model' && hasWithdrawn(entry.node, demand, deadline)) return 'withdrawn'
    if (reason !== undefined) return reason
    return hasFreeSlot(entry, busy) ? 'fit' : 'busy'
  })
}

/** Returns the reading keys of a list's members in its order, also of those that were banned since. Throws TypeError for an unknown node. */
export async function readingGrants(
  { pool, store }: Pick<PoolSources, 'pool' | 'store'>,
  members: readonly Address[],
): Promise<readonly ReadingGrant[]> {
  const known = await pool.find(members)
  return Promise.all(
    members.map(async (address) => {
      const reading =
        known.get(address)?.node.reading ?? (await store.findNode(address))?.document.reading
      if (reading) return reading
      throw new TypeError(`The node ${address} of a list has never attested`)
    }),
  )
}

/** True when a node has a free slot. */
export const hasFreeSlot = (
  { node }: KnownNode,
  busy: ReadonlyMap<Address, OccupiedSlots>,
): boolean => {
  const { offered = 0, claimed = 0 } = busy.get(node.address) ?? {}
  return offered + claimed < node.capacity
}

/**
 * Returns the members of a list that cannot get an offer now, by position, each with its first reason. Reads the members that would
 * be seated first anew from the store and the chain, because many lists may be drawn while the pool is cached, and clients reject a
 * list that seats a node which is about to leave.
 */
export async function passedMembers(
  deps: PoolSources,
  members: readonly Address[],
  demand: Demand,
  quorum: number,
): Promise<readonly { readonly position: number; readonly reason: PassReason }[]> {
  const states = [...(await memberStates(deps, members, demand))]
  const looked = new Set<number>()
  for (;;) {
    const passed = states.flatMap((state, position) => {
      const reason = passReasonOf(state)
      return reason === undefined ? [] : [{ position, reason }]
    })
    const first = firstPositions(members.length, passed, quorum)
    const next = first.filter((position) => !looked.has(position))
    if (next.length === 0) return passed
    const nodes = next.map((position) => members[position] as Address)
    const chain = await deps.chain.nodesOf(nodes, 'now')
    const found = await Promise.all(
      nodes.map((address) => fitnessOf(deps, address, demand, chain.get(address))),
    )
    for (const [index, position] of next.entries()) {
      looked.add(position)
      states[position] = found[index] ?? 'busy'
    }
  }
}

/** Reads one node anew, and returns whether it has a free slot and still meets the demand. */
export const checkFitness = async (
  deps: PoolSources,
  address: Address,
  demand: Demand,
): Promise<MemberState> => fitnessOf(deps, address, demand, await deps.chain.nodeOf(address))

async function fitnessOf(
  deps: PoolSources,
  address: Address,
  demand: Demand,
  chain: ChainNode | undefined,
): Promise<MemberState> {
  const [found, jobs, outages] = await Promise.all([
    deps.store.findNode(address),
    deps.store.listJobsOfNode(address),
    deps.outages.known(),
  ])
  if (!found) return 'certificate-expired'
  const node = found.document
  const [reason] = ineligibleReasons(node, chain, demand, deps.clock.now(), outages)
  if (reason !== undefined) return reason
  return countAssignments(jobs, address, occupiesSlot) < node.capacity ? 'fit' : 'busy'
}

/** Counts a node's assignments in these jobs whose status `counts`. */
export const countAssignments = (
  jobs: readonly Job[],
  node: Address,
  counts: (status: Job['assignments'][number]['status']) => boolean,
): number =>
  jobs
    .flatMap(({ assignments }) => assignments)
    .filter((assignment) => assignment.node === node && counts(assignment.status)).length
