import type { Clock } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { toSeconds } from '../../lib/time.ts'
import type { StoredKey } from '../chain/chain.ts'
import type { Dependencies } from '../dependencies.ts'
import { keyOf } from '../records/keys.ts'

/** Where a stored key is: its handles and the block that stored it. */
export type KeyPlace = {
  readonly kpHighHandle: bigint
  readonly kpLowHandle: bigint
  readonly block_number: bigint
}

type Handles = Pick<KeyPlace, 'kpHighHandle' | 'kpLowHandle'>

const lookAgainSeconds = 2
/** How long a list may be used after it was signed. */
export const listSeconds = 600

const nameOf = ({ kpHighHandle, kpLowHandle }: Handles) => keyOf('drawn', kpHighHandle, kpLowHandle)

/** Notes that the list of a key was signed which grew too old while its draw waited: the client can still use the list. */
export async function noteDrawn({ store, clock }: Dependencies, key: Handles): Promise<void> {
  const now = clock.now()
  const expiresAt = now + listSeconds * 1000
  await store.save({ kind: 'key', key: nameOf(key), value: 'drawn', now, expiresAt })
}

/** True while the list of such a key can be used. */
export const isDrawn = async ({ store, clock }: Dependencies, key: Handles): Promise<boolean> =>
  (await store.findKey(nameOf(key), clock.now())) !== undefined

/** How long ago a key was stored, in seconds. */
export const ageOf = (clock: Pick<Clock, 'now'>, { storedAt }: StoredKey): number =>
  toSeconds(clock.now()) - storedAt

/** Returns a client's own stored key. Throws `key-unknown`, or `key-expired` when it is older than `maxSeconds`. */
export async function findOwnKey(
  { chain, clock }: Dependencies,
  client: Address,
  { kpHighHandle, kpLowHandle, block_number }: KeyPlace,
  maxSeconds: number,
): Promise<StoredKey> {
  const key = await chain.storedKeyAt(client, kpHighHandle, kpLowHandle, block_number)
  if (!key) {
    throw new ProblemError(
      'key-unknown',
      `PromptKeyStore has stored no such key of ${client} in block ${block_number}, as far as the ICL can see`,
      { retryAfterSeconds: lookAgainSeconds },
    )
  }
  const age = ageOf(clock, key)
  if (age <= maxSeconds) return key
  const why = `The key was stored ${age} s ago, and is good for ${maxSeconds} s. Store another key`
  throw new ProblemError('key-expired', why)
}
