import type { Random } from '../../lib/random.ts'
import { type SigningKey, signingKeyFromSeed } from '../../lib/session-key.ts'

/** A new session key: random, in memory only, and so the name of one run of the daemon. */
export const newSessionKey = (random: Random): Promise<SigningKey> =>
  signingKeyFromSeed(random.bytes(32))
