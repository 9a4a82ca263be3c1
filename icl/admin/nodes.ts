import type { Address } from '../../lib/codecs.ts'
import { type EkBinding, listEkBindings, releaseEk } from '../attestation/ek-binding.ts'
import { type Ban, listBans } from '../records/bans.ts'
import type { Node } from '../rules/eligibility.ts'
import { type AdminContext, noPool } from './context.ts'

/** A node for the operator: its document, its ban, or both. */
export type NodeSummary = {
  readonly address: Address
  readonly ban: Ban | undefined
  readonly node: Node | undefined
}

/** Lists every node that ever attested and every banned address, by address. */
export async function listAllNodes(context: AdminContext): Promise<readonly NodeSummary[]> {
  const [nodes, bans] = await Promise.all([context.store.listNodes(-1), listBans(context)])
  const known = new Map(nodes.map((node) => [node.address, node]))
  return [...new Set([...known.keys(), ...bans.keys()])]
    .sort((a, b) => (a < b ? -1 : 1))
    .map((address) => ({ address, ban: bans.get(address), node: known.get(address) }))
}

/** Returns the endorsement keys (TPMs) that are bound to an address, or the binding of a named key; empty when there is none. */
export async function findEndorsementKeys(
  context: AdminContext,
  which: { readonly address: Address } | { readonly id: string },
): Promise<readonly EkBinding[]> {
  const bound = await listEkBindings(context)
  return bound.filter(({ id, address }) =>
    'id' in which ? id === which.id : address === which.address,
  )
}

/** Frees a TPM for another address, and ends the certificates that rest on it. Returns false when its binding has changed meanwhile. */
export const releaseEndorsementKey = (
  context: AdminContext,
  binding: EkBinding,
): Promise<boolean> => releaseEk({ ...context, pool: noPool }, binding)
