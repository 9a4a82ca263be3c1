import type { z } from 'zod'
import { Base64Url32, WalletSignature } from '../codecs.ts'
import { fromBase64Url } from '../digest.ts'
import { named } from './named.ts'

/** A u of X25519 in its only spelling: below 2^255 - 19, so that no key has two names (RFC 7748, section 5, accepts more). */
const isCanonical = (key: string): boolean => {
  const bytes = fromBase64Url(key)
  const last = bytes[31] ?? 255
  if (last > 127) return false
  if (last < 127 || (bytes[0] ?? 255) < 0xed) return true
  return bytes.subarray(1, 31).some((byte) => byte !== 255)
}

/** A node's X25519 reading key, and its wallet's signature of `Reading` (EIP-712). */
export const ReadingGrant = named('ReadingGrant', {
  key: Base64Url32.refine(
    // zod continues to refine text that is no base64url.
    (key) => key.length !== 43 || isCanonical(key),
    { message: 'must be a canonical X25519 key' },
  ),
  signature: WalletSignature,
})
export type ReadingGrant = z.output<typeof ReadingGrant>
