import type { Dependencies } from '../dependencies.ts'
import type { Candidate } from '../rules/draw.ts'
import { type ChainNode, type Demand, ineligibleReasons, type Node } from '../rules/eligibility.ts'
import { weightOf } from '../rules/reputation.ts'
import type { BusySlots } from '../store/store.ts'

/** A node with what the chain says of it. */
export type PoolNode = { readonly node: Node; readonly chain: ChainNode }

/** Every node that meets a demand now; throws when the chain does not answer, because a pool that only looks empty ends jobs. */
export async function loadEligible(
  deps: Dependencies,
  demand: Demand,
): Promise<readonly PoolNode[]> {
  const now = deps.clock.now()
  const nodes = await deps.store.listNodes(now)
  const pool = await Promise.all(
    nodes.map(async (node) => ({ node, chain: await deps.chain.nodeOf(node.address) })),
  )
  return pool.filter(({ node, chain }) => ineligibleReasons(node, chain, demand, now).length === 0)
}

/** The nodes that a demand can be drawn from, each with its weight and whether it is busy. */
export async function loadCandidates(
  deps: Dependencies,
  demand: Demand,
): Promise<readonly Candidate[]> {
  const [eligible, busy] = await Promise.all([
    loadEligible(deps, demand),
    deps.store.countBusySlots(),
  ])
  return eligible.map(({ node }) => ({
    address: node.address,
    weight: weightOf(node.standing),
    busy: slotsOf(busy.get(node.address)) >= node.capacity,
  }))
}

const slotsOf = (busy: BusySlots | undefined): number => (busy ? busy.offered + busy.claimed : 0)
