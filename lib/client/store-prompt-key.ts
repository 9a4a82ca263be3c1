import type { EncryptedInput } from '../chain/encrypted-input.ts'
import type { Terms } from '../schemas/terms.ts'
import { termsHash } from '../terms.ts'
import type { StoredPromptKey } from './client-chain.ts'
import type { ClientContext } from './context.ts'

/** Stores the encrypted key halves on chain, with the hash of the terms. Only this client can read them until it commits to a list. */
export const storePromptKey = async (
  { chain }: Pick<ClientContext, 'chain'>,
  halves: { readonly high: EncryptedInput; readonly low: EncryptedInput },
  terms: Terms,
  signal?: AbortSignal,
): Promise<StoredPromptKey> =>
  chain.storeKey({ ...halves, termsHash: await termsHash(terms) }, signal)
