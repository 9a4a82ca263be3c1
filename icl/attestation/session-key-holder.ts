import type { Clock } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { keyOf } from '../records/keys.ts'

/**
 * The write that gives a session key, by its thumbprint, to an address until its session ends (Unix seconds), so that a signature is by one node
 * only; it is refused when another address has the key.
 */
export const sessionKeyWriteOf = (
  { clock }: { readonly clock: Clock },
  thumbprint: string,
  address: Address,
  notAfter: number,
) =>
  ({
    kind: 'key',
    key: keyOf('session', thumbprint),
    value: address,
    now: clock.now(),
    expiresAt: notAfter * 1000,
  }) as const

/** The refusal of a session key that another address has. */
export const sessionKeyTaken = () =>
  new ProblemError(
    'session-key-taken',
    'This session key is attested for another address. Attest with a key of your own',
  )
