import { Hash32 } from '../codecs.ts'
import { toChainError } from './chain-error.ts'

/** Parses a hash from the chain's RPC; throws SvcError `chain-unavailable` for anything else, such as that of a block without one yet. */
export function chainHash(given: unknown, doing: string): Hash32 {
  const hash = Hash32.safeParse(given)
  if (!hash.success) throw toChainError(new Error('the RPC gave no hash of 32 bytes'), doing)
  return hash.data
}
