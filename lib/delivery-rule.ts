import { concat, hexToBytes, keccak256 } from 'viem'
import type { Address, JobId } from './codecs.ts'
import { concatBytes, fromBase64Url, utf8 } from './digest.ts'

/** A node with the salt of its revealed answer, base64url. */
type Revealed = { readonly address: Address; readonly salt: string }

/**
 * Returns the members of an accepted group in the order in which they deliver: the first, then the next when it fails. The order is drawn
 * from the salts of all revealed `answers`, given by batch and position, so no node knows it while it can still choose its commitment.
 */
export function deliverers(
  jobId: JobId,
  answers: readonly Revealed[],
  group: readonly Address[],
): readonly Address[] {
  const salts = answers.map(({ salt }) => fromBase64Url(salt))
  const entropy = keccak256(concatBytes(utf8('svc-deliver-v2'), hexToBytes(jobId), ...salts))
  return group
    .map((address) => ({ address, key: keccak256(concat([entropy, address])) }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ address }) => address)
}

/** A checker's verdict on a delivery; undefined while there is none. */
type Check = 'match' | 'no-match' | undefined

/**
 * Decides on a delivery by the other members' verdicts. It is `waiting` until all have answered or their time is up. It has `settled` with
 * at least one match and no fewer matches than mismatches. Else it has failed, and the next member delivers: a checker refused the output,
 * or none could check it. A tie settles, so that one liar cannot reject deliveries until its own turn comes.
 */
export function settled(
  checks: readonly Check[],
  isTimeUp: boolean,
): 'settled' | 'output-refused' | 'never-checked' | 'waiting' {
  if (!isTimeUp && checks.includes(undefined)) return 'waiting'
  const matches = checks.filter((check) => check === 'match').length
  const mismatches = checks.filter((check) => check === 'no-match').length
  if (matches >= 1 && matches >= mismatches) return 'settled'
  return mismatches >= 1 ? 'output-refused' : 'never-checked'
}
