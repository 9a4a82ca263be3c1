import type { Clock } from '../../lib/clock.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Store } from '../store/store.ts'
import { claimKey } from './claim-key.ts'

/** One request's use of the nonce that its wallet has signed: a key that no other request can have as well. */
export type NonceUse = {
  readonly key: string
  readonly value: string
  readonly expiresAt: number
}

type Held = { readonly store: Store; readonly clock: Clock }

export const nonceReused = () =>
  new ProblemError('nonce-reused', 'The nonce of this signature was used before')

/** Uses the nonce up; throws `nonce-reused` when another request has. */
export async function takeNonce(held: Held, { key, value, expiresAt }: NonceUse): Promise<void> {
  if ((await claimKey(held, key, value, expiresAt)) !== value) throw nonceReused()
}

/** Throws `nonce-reused` when another request has used the nonce up by now. */
export async function checkNonce({ store, clock }: Held, { key }: NonceUse): Promise<void> {
  if ((await store.findKey(key, clock.now())) !== undefined) throw nonceReused()
}
