import { Hash32 } from '../codecs.ts'
import { toChainError } from './chain-error.ts'

/** A hash that the chain's RPC gave; throws SvcError `chain-unavailable` for anything else, as for a block that has none yet. */
export function chainHash(given: unknown, doing: string): Hash32 {
  const hash = Hash32.safeParse(given)
  if (!hash.success) throw toChainError(new Error('the RPC gave no hash of 32 bytes'), doing)
  return hash.data
}
