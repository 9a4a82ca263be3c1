import { z } from 'zod'
import type { Clock } from '../../lib/clock.ts'
import { JsonWebKeySet } from '../../lib/schemas/network.ts'
import { forever } from '../store/forever.ts'
import type { Store } from '../store/store.ts'
import { deriveSigningKeys, deriveTokenKeys, type IclKeys, type SigningKeys } from './icl-keys.ts'
import { keyOf, parseHeld, prefixOf } from './keys.ts'

/** How long replicas have to load a new generation and publish its keys before any replica signs with it. */
export const activationMs = 60_000

const generationPrefix = prefixOf('keyring:generation')
const publicPrefix = prefixOf('keyring:public')
const withdrawnPrefix = prefixOf('keyring:withdrawn')

const GenerationNumber = z.int().min(2)
const Generation = z.object({ activeAt: z.number() })
const PublicKey = z.object({
  jwk: JsonWebKeySet.shape.keys.element,
  since: z.number(),
  generation: z.number().optional(),
})

type Stored = Pick<Store, 'listKeys' | 'save'>

/** A generation of signing keys. The first exists from the start, and each rotation adds one. Times in milliseconds. */
export type KeyGeneration = { readonly generation: number; readonly activeAt: number }

/**
 * Makes keys that rotate. The store holds the rotations and all public keys, even those of former secrets, but no private key: private
 * keys are derived from the secret. `refresh` throws when the store does not answer, and the keys stay as they are.
 */
export async function createKeyring(
  { store, clock }: { readonly store: Stored; readonly clock: Clock },
  secret: Uint8Array,
): Promise<IclKeys> {
  const tokens = await deriveTokenKeys(secret)
  const derived = new Map<number, SigningKeys>()
  const keysOf = async (generation: number): Promise<SigningKeys> => {
    const keys = derived.get(generation) ?? (await deriveSigningKeys(secret, generation))
    derived.set(generation, keys)
    return keys
  }
  const first = await keysOf(1)
  let generations: readonly (KeyGeneration & { readonly keys: SigningKeys })[] = [
    { generation: 1, activeAt: 0, keys: first },
  ]
  let jwks: JsonWebKeySet = { keys: [...first.publicKeys] }

  const isPublished = ({ publicKeys }: SigningKeys) =>
    publicKeys.every(({ kid }) => jwks.keys.some((key) => key.kid === kid))
  const current = (): SigningKeys => {
    const active = generations.filter(({ activeAt }) => activeAt <= clock.now())
    const usable = active.findLast(({ keys }) => isPublished(keys)) ?? active.at(-1)
    return usable?.keys ?? first
  }
  return {
    ...tokens,
    get tally() {
      return current().tally
    },
    get jwks() {
      return jwks
    },
    get isPublished() {
      return isPublished(current())
    },
    signCertificate: (claims) => current().signCertificate(claims),
    refresh: async () => {
      const known = await listGenerations(store, clock)
      const next = await Promise.all(
        known.map(async (one) => ({ ...one, keys: await keysOf(one.generation) })),
      )
      const own = next.flatMap(({ generation, keys }) =>
        keys.publicKeys.map((jwk) => ({ jwk, generation })),
      )
      jwks = { keys: await publish(store, clock, own) }
      generations = next
    },
  }
}

/** Lists all generations, the oldest first; throws SvcError `store-corrupt`. */
export async function listGenerations(
  store: Stored,
  clock: Clock,
): Promise<readonly KeyGeneration[]> {
  const rotations = await store.listKeys(generationPrefix, clock.now())
  const generations = rotations.map(({ key, value }) => {
    const what = `The record ${key}`
    const number = key.slice(generationPrefix.length)
    const generation = parseHeld(GenerationNumber, number, what)
    return { generation, activeAt: parseHeld(Generation, value, what).activeAt }
  })
  const all = [{ generation: 1, activeAt: 0 }, ...generations]
  return all.toSorted((a, b) => a.generation - b.generation)
}

/** Lists every public key ever published, the newest first, and whether it was withdrawn; throws SvcError `store-corrupt`. */
export async function listPublicKeys(store: Stored, clock: Clock) {
  const held = await store.listKeys(publicPrefix, clock.now())
  const withdrawn = await store.listKeys(withdrawnPrefix, clock.now())
  const kids = new Set(withdrawn.map(({ key }) => key.slice(withdrawnPrefix.length)))
  return held
    .map(({ key, value }) => parseHeld(PublicKey, value, `The record ${key}`))
    .map((known) => ({ ...known, withdrawn: kids.has(known.jwk.kid) }))
    .sort((a, b) => b.since - a.since)
}

/** Withdraws a compromised public key for good; false when no such key is published. */
export async function withdrawKey(store: Stored, clock: Clock, kid: string): Promise<boolean> {
  const known = (await listPublicKeys(store, clock)).find(({ jwk }) => jwk.kid === kid)
  if (!known || known.withdrawn) return false
  const now = clock.now()
  const key = keyOf('keyring:withdrawn', kid)
  return store.save({ kind: 'key', key, value: 'withdrawn', now, expiresAt: forever })
}

/** Adds a generation; undefined when another process did so at the same moment, or when the last one is not active yet. */
export async function rotateKeys(store: Stored, clock: Clock): Promise<KeyGeneration | undefined> {
  const now = clock.now()
  const last = (await listGenerations(store, clock)).at(-1)
  if (last && last.activeAt > now) return undefined
  const next = { generation: (last?.generation ?? 1) + 1, activeAt: now + activationMs }
  const key = keyOf('keyring:generation', next.generation)
  const value = JSON.stringify({ activeAt: next.activeAt })
  const isSaved = await store.save({ kind: 'key', key, value, now, expiresAt: forever })
  return isSaved ? next : undefined
}

/** Stores public keys for good. Returns the new ones and all stored ones that are not withdrawn. */
async function publish(
  store: Stored,
  clock: Clock,
  own: readonly { readonly jwk: Jwk; readonly generation: number }[],
): Promise<Jwk[]> {
  const known = await listPublicKeys(store, clock)
  const kids = new Set(known.map(({ jwk }) => jwk.kid))
  const fresh = own.filter(({ jwk }) => !kids.has(jwk.kid))
  const now = clock.now()
  for (const { jwk, generation } of fresh) {
    const key = keyOf('keyring:public', jwk.kid)
    const value = JSON.stringify({ jwk, since: now, generation })
    // The store refuses a key that another replica published first, which is just as good.
    await store.save({ kind: 'key', key, value, now, expiresAt: forever })
  }
  const stored = known.filter(({ withdrawn }) => !withdrawn)
  return [...fresh, ...stored].map(({ jwk }) => jwk)
}

type Jwk = JsonWebKeySet['keys'][number]
