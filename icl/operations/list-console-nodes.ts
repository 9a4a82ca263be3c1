import type { z } from 'zod'
import { weightOf } from '../../lib/reputation.ts'
import type { ConsoleNode, ConsoleNodes } from '../../lib/schemas/console.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import type { KnownNode } from '../pool/pool.ts'
import { ineligibleReasons, servedTiers } from '../rules/eligibility.ts'
import type { Outage } from '../rules/outages.ts'
import { pageByAddress } from './page-position.ts'

const pageSize = 200

/** Returns a page of the nodes with a certificate, by address. */
export async function listConsoleNodes(
  deps: Dependencies,
  cursor: string | undefined,
): Promise<z.output<typeof ConsoleNodes>> {
  const outages = await deps.outages.known()
  const { page, next_cursor } = pageByAddress(await deps.pool.nodes(), pageSize, cursor)
  const now = deps.clock.now()
  return { nodes: page.map((node) => viewNode(node, now, outages)), next_cursor }
}

function viewNode(
  { node, chain }: KnownNode,
  now: number,
  outages: readonly Outage[],
): ConsoleNode {
  const { address, certificate, heartbeatAt, version, modelIds, standing } = node
  const reasons = ineligibleReasons(node, chain, { minTier: 0 }, now, outages)
  return {
    address,
    backend: certificate.backend,
    tiers: [...servedTiers(node, chain)],
    model_ids: [...modelIds],
    certified_at: toSeconds(certificate.issuedAt),
    expires_at: toSeconds(certificate.expiresAt),
    ...(heartbeatAt !== undefined && { last_heartbeat: toSeconds(heartbeatAt) }),
    ...(version !== undefined && { version }),
    active: reasons.length === 0,
    reasons: [...reasons],
    score: standing.score,
    weight: weightOf(standing),
    completed: standing.completed,
    accepted: standing.accepted,
    rejected: standing.rejected,
    slashed_gwei: standing.slashedGwei,
  }
}
