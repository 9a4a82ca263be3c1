import type { Clock } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { cached } from '../async/cached.ts'
import type { Certificate } from '../rules/eligibility.ts'
import { forever } from '../store/forever.ts'
import type { Store } from '../store/store.ts'
import { revokeCertificate } from './bans.ts'
import type { Nodes } from './change-node.ts'
import { keyOf, prefixOf } from './keys.ts'

/** What the operator can revoke besides a node: a TPM (`ek`, its hash), an attestation key (`ak`, its name) or one certificate (`jti`). */
export type Revocable = { readonly kind: 'ek' | 'ak' | 'jti'; readonly id: string }

type Held = { readonly store: Store; readonly clock: Clock }

/** The revocation list as requests are checked against it. */
export type Revocations = {
  /** True when the certificate, or the TPM behind it, is revoked; what another process revoked counts within a second. */
  covers(certificate: Certificate): Promise<boolean>
  /** True when one of these is revoked; asks the store. */
  includes(things: readonly Revocable[]): Promise<boolean>
}

const prefix = prefixOf('revoked')
const cachedMs = 1_000
const nameOf = ({ kind, id }: Revocable) => `${kind}:${id}`

/** The list in the store together with what the settings revoke (hashes and names in hex). */
export function createRevocations(held: Held, bySettings: ReadonlySet<string>): Revocations {
  const { store, clock } = held
  let last: ReadonlySet<string> = new Set()
  const read = async (): Promise<ReadonlySet<string>> => {
    try {
      const keys = await store.listKeys(prefix, clock.now())
      last = new Set(keys.map(({ key }) => key.slice(prefix.length)))
    } catch {
      // A revocation has ended the certificate in the node's record, too, so that what is known may stand in for a while.
    }
    return last
  }
  const current = cached(clock, cachedMs, read)
  const isInSettings = ({ kind, id }: Revocable) => kind !== 'jti' && bySettings.has(id)
  return {
    covers: async (certificate) => {
      const things = thingsOf(certificate)
      if (things.some(isInSettings)) return true
      const names = await current.read()
      return things.some((thing) => names.has(nameOf(thing)))
    },
    includes: async (things) => {
      if (things.some(isInSettings)) return true
      for (const thing of things) {
        const value = await store.findKey(keyOf('revoked', thing.kind, thing.id), clock.now())
        if (value !== undefined) return true
      }
      return false
    },
  }
}

const thingsOf = ({ id, tpm }: Certificate): readonly Revocable[] => [
  { kind: 'jti', id },
  ...(tpm
    ? [
        { kind: 'ek' as const, id: tpm.ek },
        { kind: 'ak' as const, id: tpm.ak },
      ]
    : []),
]

/** Revokes a thing from now on and ends every certificate that stands on it; returns whose these were. */
export async function revoke(held: Held & Nodes, thing: Revocable): Promise<readonly Address[]> {
  const now = held.clock.now()
  const key = keyOf('revoked', thing.kind, thing.id)
  // First the list, then the certificates: an attestation under way sees one or is seen by the other.
  await held.store.save({ kind: 'key', key, value: 'revoked', now, expiresAt: forever })
  const nodes = await held.store.listNodes(-1)
  const ended: Address[] = []
  for (const { address, certificate } of nodes) {
    const isMeant = thingsOf(certificate).some((own) => nameOf(own) === nameOf(thing))
    if (isMeant && (await revokeCertificate(held, address))) ended.push(address)
  }
  return ended
}

/** Lets a TPM or an attestation key be used again; false when it was not revoked. */
export const unrevoke = ({ store }: Held, { kind, id }: Revocable): Promise<boolean> =>
  store.save({ kind: 'release-key', key: keyOf('revoked', kind, id), value: 'revoked' })
