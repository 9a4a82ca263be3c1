import type { Clock } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { keyOf } from '../records/keys.ts'

/** How far from now the end of a session may be. */
export const longestSessionMs = 48 * 3_600_000

/**
 * The write that gives a session key, by its thumbprint, to an address, so that a signature is by one node only; it is refused when another address
 * has the key. It has it for as long as any session may last that it has attested so far: a later one may be shorter.
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

/** The refusal of a session key that another address has. */
export const sessionKeyTaken = () =>
  new ProblemError(
    'session-key-taken',
    'This session key is attested for another address. Attest with a key of your own',
  )
