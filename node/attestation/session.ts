import type { Random } from '../../lib/random.ts'
import { type SigningKey, signingKeyFromSeed } from '../../lib/session-key.ts'

/** Makes a session key: random, in memory only, so it identifies one run of the daemon. */
export const newSessionKey = (random: Random): Promise<SigningKey> =>
  signingKeyFromSeed(random.bytes(32))
