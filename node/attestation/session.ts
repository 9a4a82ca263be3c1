import type { Address } from '../../lib/codecs.ts'
import type { Random } from '../../lib/random.ts'
import type { NodeSigner } from '../../lib/request-signature.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'

/** Makes a node's signer with a new session key: random, in memory only, so it identifies one run of the daemon. */
export const newSigner = async (address: Address, random: Random): Promise<NodeSigner> => ({
  kind: 'node',
  address,
  key: await signingKeyFromSeed(random.bytes(32)),
})
