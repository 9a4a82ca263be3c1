import type { Clock } from '../../lib/clock.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Store } from '../store/store.ts'

const maxTries = 5

/** Gives `key` to `value` until `expiresAt` (ms) unless another value has it; returns the value that has it. Throws `unavailable`. */
export async function claimKey(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
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
  throw new ProblemError('unavailable', 'The store is too busy. Try again', {
    retryAfterSeconds: 1,
  })
}
