import type { Clock } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { concatBytes, fromBase64Url, toBase64Url, utf8 } from '../../lib/digest.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Random } from '../../lib/random.ts'
import { toSeconds } from '../../lib/time.ts'
import { claimKey } from '../records/claim-key.ts'
import type { IclKeys } from '../records/icl-keys.ts'
import { keyOf } from '../records/keys.ts'
import type { Store } from '../store/store.ts'

/** How long a nonce can be used (spec 8). */
export const challengeMs = 300_000

const timeBytes = 8
const randomBytes = 16
const nonceBytes = timeBytes + randomBytes + 32

type Challenging = {
  readonly clock: Clock
  readonly random: Random
  readonly keys: Pick<IclKeys, 'tag' | 'isTag'>
}

/** Creates a nonce for one attestation of an address; `expires_at` in Unix seconds. The ICL knows it by its tag and stores nothing yet. */
export async function createNonce(
  deps: Challenging,
  address: Address,
): Promise<{ readonly nonce: string; readonly expires_at: number }> {
  const now = deps.clock.now()
  const time = new Uint8Array(timeBytes)
  new DataView(time.buffer).setBigUint64(0, BigInt(now))
  const head = concatBytes(time, deps.random.bytes(randomBytes))
  const tag = await deps.keys.tag('challenge', concatBytes(utf8(address), head))
  return {
    nonce: toBase64Url(concatBytes(head, tag)),
    expires_at: toSeconds(now + challengeMs),
  }
}

/**
 * Uses up a nonce, whatever follows, and returns when it was issued (milliseconds). Throws when it was not issued for this address, is
 * too old, or was used before (spec 5).
 */
export async function burnNonce(
  deps: Challenging & { readonly store: Store },
  address: Address,
  nonce: string,
): Promise<number> {
  const bytes = fromBase64Url(nonce)
  const head = bytes.slice(0, timeBytes + randomBytes)
  const tag = bytes.slice(timeBytes + randomBytes)
  const isOurs =
    bytes.length === nonceBytes &&
    (await deps.keys.isTag('challenge', concatBytes(utf8(address), head), tag))
  if (!isOurs) {
    throw new ProblemError('challenge-invalid', 'The nonce was not issued for this address here')
  }
  const issuedAt = Number(new DataView(head.buffer).getBigUint64(0))
  const use = toBase64Url(deps.random.bytes(16))
  const keptUntil = issuedAt + 2 * challengeMs
  const first = await claimKey(deps, keyOf('challenge', toBase64Url(head)), use, keptUntil)
  if (first !== use) throw new ProblemError('challenge-used', 'The nonce was used before')
  if (deps.clock.now() > issuedAt + challengeMs) {
    throw new ProblemError('challenge-expired', 'The nonce is older than 300 s. Fetch a new one')
  }
  return issuedAt
}
