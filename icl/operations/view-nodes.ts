import type { z } from 'zod'
import type { Address } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { weightOf } from '../../lib/reputation.ts'
import type { ActiveNode, NodeRecord } from '../../lib/schemas/nodes.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { loadEligible } from '../pool/load-pool.ts'
import type { KnownNode } from '../pool/pool.ts'
import { type Demand, ineligibleReasons, type Node, servedTiers } from '../rules/eligibility.ts'
import { pageByAddress } from './page-position.ts'

const pageSize = 100

/** Returns a page of the active pool, by address. */
export async function listActiveNodes(deps: Dependencies, demand: Demand, cursor?: string) {
  const { page, next_cursor } = pageByAddress(await loadEligible(deps, demand), pageSize, cursor)
  return { nodes: page.map(viewActiveNode), next_cursor }
}

const viewActiveNode = ({ node, chain }: KnownNode): z.output<typeof ActiveNode> => ({
  operator_address: node.address,
  model_tiers: [...servedTiers(node, chain)],
  supported_model_ids: [...node.modelIds],
  reputation_score: node.standing.score,
  last_heartbeat: toSeconds(node.heartbeatAt ?? 0),
  attestation: {
    backend: node.certificate.backend,
    expires_at: toSeconds(node.certificate.expiresAt),
  },
})

/** Returns a node that has attested. Throws `node-not-found`. */
export async function loadNode({ store }: Dependencies, address: Address): Promise<Node> {
  const found = await store.findNode(address)
  if (found) return found.document
  throw new ProblemError('node-not-found', `No node ${address} has attested here`)
}

/** A node's record (spec 2.2). */
export async function viewNode(
  deps: Dependencies,
  address: Address,
): Promise<z.output<typeof NodeRecord>> {
  const node = await loadNode(deps, address)
  const [chain, outages, eligible] = await Promise.all([
    deps.chain.nodeOf(address),
    deps.outages.known(),
    loadEligible(deps, { minTier: 0 }),
  ])
  const { standing } = node
  const reasons = ineligibleReasons(node, chain, { minTier: 0 }, deps.clock.now(), outages)
  return {
    operator_address: address,
    model_tiers: [...servedTiers(node, chain)],
    active: reasons.length === 0,
    metrics: {
      tasks_completed: standing.completed,
      tasks_accepted: standing.accepted,
      tasks_rejected: standing.rejected,
      reputation_score: standing.score,
      total_slash_amount: standing.slashedGwei,
      last_heartbeat: toSeconds(node.heartbeatAt ?? 0),
    },
    draw: {
      weight: weightOf(standing),
      pool_weight: eligible.reduce((sum, { node }) => sum + weightOf(node.standing), 0),
      doubt_millinats: standing.doubtMillinats,
    },
  }
}
