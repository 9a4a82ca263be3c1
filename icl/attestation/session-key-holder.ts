import type { Address } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { thumbprintOf } from '../../lib/session-key.ts'
import type { Dependencies } from '../dependencies.ts'
import { claimKey } from '../store/claim-key.ts'

/**
 * Gives a session key to an address until its session ends (Unix seconds), at once for all replicas, so that a signature is by one node only;
 * throws `session-key-taken` when another address has it.
 */
export async function bindSessionKey(
  deps: Pick<Dependencies, 'store' | 'clock'>,
  publicKey: string,
  address: Address,
  notAfter: number,
): Promise<void> {
  const key = `session:${await thumbprintOf(publicKey)}`
  if ((await claimKey(deps, key, address, notAfter * 1000)) === address) return
  throw new ProblemError(
    'session-key-taken',
    'This session key is attested for another address. Attest with a key of your own',
  )
}
