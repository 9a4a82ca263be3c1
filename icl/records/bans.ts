import { z } from 'zod'
import type { Clock } from '../../lib/clock.ts'
import { Address } from '../../lib/codecs.ts'
import { ended, type Node } from '../rules/eligibility.ts'
import { forever } from '../store/forever.ts'
import { type Alongside, changeNode, type Nodes } from './change-node.ts'
import { keyOf, parseHeld, prefixOf } from './keys.ts'

const prefix = prefixOf('ban')

const Ban = z.object({ reason: z.string(), at: z.number() })
export type Ban = z.output<typeof Ban>

type Bans = Nodes & { readonly clock: Clock }

/** Returns the ban of a node, if it has one; throws SvcError `store-corrupt`. */
export async function findBan(
  { store, clock }: Omit<Bans, 'pool'>,
  address: Address,
): Promise<Ban | undefined> {
  const value = await store.findKey(keyOf('ban', address), clock.now())
  return value === undefined ? undefined : parseBan(address, value)
}

/** Returns every ban by address; throws SvcError `store-corrupt`. */
export async function listBans({ store, clock }: Omit<Bans, 'pool'>) {
  const bans = new Map<Address, Ban>()
  for (const { key, value } of await store.listKeys(prefix, clock.now())) {
    const address = Address.parse(key.slice(prefix.length))
    bans.set(address, parseBan(address, value))
  }
  return bans
}

/** Bans a node: it cannot attest any more, and its certificate ends. False when it was banned already. */
export async function banNode(bans: Bans, address: Address, reason: string): Promise<boolean> {
  const { clock } = bans
  const now = clock.now()
  const value = JSON.stringify({ reason, at: now })
  const key = keyOf('ban', address)
  let isNew = true
  await endCertificate(bans, address, () => {
    const write = { kind: 'key', key, value, now, expiresAt: forever } as const
    return isNew ? { writes: [write], onRefused: () => (isNew = false) } : undefined
  })
  return isNew
}

/** Lets a node attest again; false when it was not banned. */
export async function unbanNode({ store, clock }: Bans, address: Address): Promise<boolean> {
  const key = keyOf('ban', address)
  const value = await store.findKey(key, clock.now())
  return value !== undefined && store.save({ kind: 'release-key', key, value })
}

/** Ends a node's certificate, so that its requests are refused until it attests again. False when it has no valid one. */
export const revokeCertificate = (bans: Bans, address: Address): Promise<boolean> =>
  endCertificate(bans, address)

async function endCertificate(
  bans: Bans,
  address: Address,
  alongside?: () => Alongside | undefined,
): Promise<boolean> {
  let didChange = false
  const change = (node: Node | undefined) => {
    didChange = node !== undefined && node.certificate.expiresAt > bans.clock.now()
    if (!node || !didChange) return node
    return { ...node, certificate: ended(node.certificate) }
  }
  await changeNode(bans, address, change, alongside)
  return didChange
}

const parseBan = (address: Address, value: string): Ban =>
  parseHeld(Ban, value, `The ban of ${address}`, 'Unban the node and ban it again.')
