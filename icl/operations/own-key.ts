import type { Address } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { toSeconds } from '../../lib/time.ts'
import type { StoredKey } from '../chain/chain.ts'
import type { StoredKeys } from '../chain/stored-keys.ts'
import type { Dependencies } from '../dependencies.ts'

/** Which stored key a client speaks of. */
export type KeyPlace = {
  readonly kpHighHandle: bigint
  readonly kpLowHandle: bigint
  readonly block_number: bigint
}

/** A client's own stored key; throws `key-unknown`, `not-key-owner`, or `key-expired` when it was stored more than `maxSeconds` ago. */
export async function findOwnKey(
  { chain, clock }: Dependencies,
  keys: StoredKeys,
  client: Address,
  { kpHighHandle, kpLowHandle, block_number }: KeyPlace,
  maxSeconds: number,
): Promise<StoredKey> {
  const key = await keys.find(chain, kpHighHandle, kpLowHandle, block_number)
  if (key.owner !== client) {
    throw new ProblemError('not-key-owner', 'PromptKeyStore shows another owner of this key')
  }
  const age = toSeconds(clock.now()) - key.storedAt
  if (age <= maxSeconds) return key
  throw new ProblemError(
    'key-expired',
    `The key was stored ${age} s ago, and is good for ${maxSeconds} s. Store another key`,
  )
}
