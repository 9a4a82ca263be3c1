import type { Clock } from '../../lib/clock.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Store } from '../store/store.ts'
import { unavailable } from './unavailable.ts'

const maxTries = 5

/** Gives `key` to `value` until `expiresAt` (ms) unless another value has it; returns the value that has it. Throws `unavailable`. */
export async function claimKey(
  { store, clock }: Held,
  key: string,
  value: string,
  expiresAt: number,
): Promise<string> {
  for (let attempt = 0; attempt < maxTries; attempt++) {
    const now = clock.now()
    if (await store.save({ kind: 'key', key, value, now, expiresAt })) return value
    const holder = await store.findKey(key, clock.now())
    if (holder !== undefined) return holder
  }
  throw unavailable('The store is too busy. Try again', 1)
}

/** A request's use of the nonce that its wallet signed: a key that no other request can have. */
export type NonceUse = {
  readonly key: string
  readonly value: string
  readonly expiresAt: number
}

type Held = { readonly store: Store; readonly clock: Clock }

export const nonceReused = () =>
  new ProblemError('nonce-reused', 'The nonce of this signature was used before')

/** Claims the nonce; throws `nonce-reused` when another request has it. */
export async function takeNonce(held: Held, { key, value, expiresAt }: NonceUse): Promise<void> {
  if ((await claimKey(held, key, value, expiresAt)) !== value) throw nonceReused()
}

/** Throws `nonce-reused` when a request has claimed the nonce; claims nothing. */
export async function checkNonce({ store, clock }: Held, { key }: NonceUse): Promise<void> {
  if ((await store.findKey(key, clock.now())) !== undefined) throw nonceReused()
}
