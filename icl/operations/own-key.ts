import type { Address } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { toSeconds } from '../../lib/time.ts'
import type { StoredKey } from '../chain/chain.ts'
import type { Dependencies } from '../dependencies.ts'

/** Where a stored key is: its handles and the block that stored it. */
export type KeyPlace = {
  readonly kpHighHandle: bigint
  readonly kpLowHandle: bigint
  readonly block_number: bigint
}

const lookAgainSeconds = 2

/** Returns a client's own stored key. Throws `key-unknown`, `not-key-owner`, or `key-expired` when it is older than `maxSeconds`. */
export async function findOwnKey(
  { chain, clock }: Dependencies,
  client: Address,
  { kpHighHandle, kpLowHandle, block_number }: KeyPlace,
  maxSeconds: number,
): Promise<StoredKey> {
  const key = await chain.storedKeyAt(kpHighHandle, kpLowHandle, block_number)
  if (!key) {
    throw new ProblemError(
      'key-unknown',
      `PromptKeyStore has stored no such key in block ${block_number}, as far as the ICL can see`,
      { retryAfterSeconds: lookAgainSeconds },
    )
  }
  if (key.owner !== client) {
    throw new ProblemError('not-key-owner', 'PromptKeyStore shows another owner of this key')
  }
  const age = toSeconds(clock.now()) - key.storedAt
  if (age <= maxSeconds) return key
  const why = `The key was stored ${age} s ago, and is good for ${maxSeconds} s. Store another key`
  throw new ProblemError('key-expired', why)
}
