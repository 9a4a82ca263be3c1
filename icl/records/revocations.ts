import type { Clock } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { cached } from '../async/cached.ts'
import type { Certificate } from '../rules/eligibility.ts'
import { forever } from '../store/forever.ts'
import type { Store } from '../store/store.ts'
import { revokeCertificate } from './bans.ts'
import type { Nodes } from './change-node.ts'
import { keyOf, prefixOf } from './keys.ts'

/** What the operator can revoke besides a node: a TPM (`ek`, by hash), an attestation key (`ak`, by name) or a certificate (`jti`). */
export type Revocable = { readonly kind: 'ek' | 'ak' | 'jti'; readonly id: string }

type Held = { readonly store: Store; readonly clock: Clock }

/** The revocation list that requests are checked against. */
export type Revocations = ReturnType<typeof createRevocations>

const prefix = prefixOf('revoked')
const cachedMs = 1_000
const nameOf = ({ kind, id }: Revocable) => `${kind}:${id}`

/** Creates the list from the store's revocations and those of the settings (hashes and names in hex). */
export function createRevocations(held: Held, bySettings: ReadonlySet<string>) {
  const { store, clock } = held
  let last: ReadonlySet<string> = new Set()
  const read = async (): Promise<ReadonlySet<string>> => {
    try {
      const keys = await store.listKeys(prefix, clock.now())
      last = new Set(keys.map(({ key }) => key.slice(prefix.length)))
    } catch {
      // The last list is good enough for a while, because a revocation also ends the certificate in the node's record.
    }
    return last
  }
  const current = cached(clock, cachedMs, read)
  const isInSettings = ({ kind, id }: Revocable) => kind !== 'jti' && bySettings.has(id)
  return {
    /** True when the certificate, its TPM or its attestation key is revoked. Sees revocations by other processes within a second. */
    covers: async (certificate: Certificate): Promise<boolean> => {
      const things = thingsOf(certificate)
      if (things.some(isInSettings)) return true
      const names = await current.read()
      return things.some((thing) => names.has(nameOf(thing)))
    },
    /** True when one of these is revoked. Always asks the store, and throws what it throws. */
    includes: async (things: readonly Revocable[]): Promise<boolean> => {
      if (things.some(isInSettings)) return true
      for (const thing of things) {
        const value = await store.findKey(keyOf('revoked', thing.kind, thing.id), clock.now())
        if (value !== undefined) return true
      }
      return false
    },
  }
}

function thingsOf({ id, tpm }: Certificate): readonly Revocable[] {
  const things: Revocable[] = [{ kind: 'jti', id }]
  if (tpm) things.push({ kind: 'ek', id: tpm.ek }, { kind: 'ak', id: tpm.ak })
  return things
}

/** Revokes a thing, and ends every certificate that rests on it; returns the addresses of their nodes. */
export async function revoke(held: Held & Nodes, thing: Revocable): Promise<readonly Address[]> {
  const now = held.clock.now()
  const key = keyOf('revoked', thing.kind, thing.id)
  // Adds to the list before it ends certificates: a concurrent attestation sees the list, or its certificate is found here.
  await held.store.save({ kind: 'key', key, value: 'revoked', now, expiresAt: forever })
  const nodes = await held.store.listNodes(-1)
  const ended: Address[] = []
  for (const { address, certificate } of nodes) {
    const isMeant = thingsOf(certificate).some((own) => nameOf(own) === nameOf(thing))
    if (isMeant && (await revokeCertificate(held, address))) ended.push(address)
  }
  return ended
}

/** Ends a revocation, so that the TPM or attestation key can be used again; false when there is none. */
export const unrevoke = ({ store }: Held, { kind, id }: Revocable): Promise<boolean> =>
  store.save({ kind: 'release-key', key: keyOf('revoked', kind, id), value: 'revoked' })
