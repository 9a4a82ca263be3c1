import { canonicalJson } from './canonical-json.ts'
import type { Hash32 } from './codecs.ts'
import { sha256Hex } from './digest.ts'
import { encode } from './encode.ts'
import { Terms } from './schemas/terms.ts'

/** The hash of a client's terms that `storeKey` puts on chain: SHA-256 of their canonical JSON. */
export const termsHash = (terms: Terms): Promise<Hash32> =>
  sha256Hex(canonicalJson(encode(Terms, terms)))
