import type { Address } from '../../lib/codecs.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Candidate } from '../rules/draw.ts'
import { type ChainNode, type Demand, ineligibleReasons, type Node } from '../rules/eligibility.ts'
import { weightOf } from '../rules/reputation.ts'

/** A node with what the chain says of it; undefined when the chain does not answer. */
export type PoolNode = { readonly node: Node; readonly chain: ChainNode | undefined }

/** What the chain knows of a node, undefined when it cannot be asked now. */
export async function chainNodeOf(
  { chain, log }: Dependencies,
  address: Address,
): Promise<ChainNode | undefined> {
  try {
    return await chain.nodeOf(address)
  } catch (error) {
    log.warn('chain does not answer about a node', { node: address, error: String(error) })
    return undefined
  }
}

/** Every node that meets a demand now. */
export async function loadEligible(
  deps: Dependencies,
  demand: Demand,
): Promise<readonly PoolNode[]> {
  const now = deps.clock.now()
  const nodes = await deps.store.listNodes(now)
  const pool = await Promise.all(
    nodes.map(async (node) => ({ node, chain: await chainNodeOf(deps, node.address) })),
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
    busy: (busy.get(node.address) ?? 0) >= node.capacity,
  }))
}
