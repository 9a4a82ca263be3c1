import type { Clock } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { keyOf } from '../records/keys.ts'

/** How far in the future the end of a session may be. */
export const longestSessionMs = 48 * 3_600_000

/**
 * The write that binds a session key, by its thumbprint, to an address, so that only one node signs with the key. It is refused when
 * another address has the key. The key stays bound for the longest time of a session, because an earlier session may end after a later one.
 */
export const sessionKeyWriteOf = (
  { clock }: { readonly clock: Clock },
  thumbprint: string,
  address: Address,
) => {
  const now = clock.now()
  const expiresAt = now + longestSessionMs
  return { kind: 'key', key: keyOf('session', thumbprint), value: address, now, expiresAt } as const
}

/** The error for a session key that another address has. */
export const sessionKeyTaken = () =>
  new ProblemError(
    'session-key-taken',
    'This session key is attested for another address. Attest with a key of your own',
  )
