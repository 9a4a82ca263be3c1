import { z } from 'zod'
import { describeEncryption, type EncryptedHalves } from '../coprocessor/coprocessor.ts'
import { Terms } from '../schemas/terms.ts'
import { splitKey } from '../sealing.ts'
import { termsHash } from '../terms.ts'
import type { StoredPromptKey } from './client-chain.ts'
import type { ClientContext } from './context.ts'
import type { ProofTimings } from './inference.ts'

/** Encrypts a prompt key for the coprocessor and reports progress. `proof` is left out when no proof was made. */
export async function encryptKey(
  { coprocessor }: Pick<ClientContext, 'coprocessor'>,
  promptKey: Uint8Array,
  progress: (detail: string) => void = () => {},
  signal?: AbortSignal,
): Promise<{ readonly halves: EncryptedHalves; readonly proof?: ProofTimings }> {
  const { high, low } = splitKey(promptKey)
  const steps = { prepare: 0, prove: 0, verify: 0 }
  let bytes: number | undefined
  const halves = await coprocessor.encrypt(high, low, {
    ...(signal && { signal }),
    onStep: (news) => {
      progress(describeEncryption(news))
      if (news.phase === 'end') steps[news.step] = news.elapsedMs
      bytes = news.proofBytes ?? bytes
    },
  })
  return { halves, ...(bytes !== undefined && { proof: { bytes, stepsMs: steps } }) }
}

/** Stores the encrypted key halves on chain, with the hash of the terms. Only this client can read them until it commits to a list. */
export const storePromptKey = async (
  { chain }: Pick<ClientContext, 'chain'>,
  halves: EncryptedHalves,
  terms: Terms,
  signal?: AbortSignal,
): Promise<StoredPromptKey> => {
  // Before the client pays for them: the ICL refuses terms that are not as the schema says.
  z.encode(Terms, terms)
  return chain.storeKey({ ...halves, termsHash: await termsHash(terms) }, signal)
}

/** The handles under which PromptKeyStore holds a prompt key. */
export type KeyHandles = Pick<StoredPromptKey, 'highHandle' | 'lowHandle'>

/**
 * Ends the list of this client's prompt key on chain: the ICL can grant no further node access to the prompt. Nodes that have access keep
 * it, and finish the job if they are enough. A job that needs another node ends with `list-ended`. Idempotent. Throws SvcError
 * `end-list-reverted` or a chain error.
 */
export const endList = (
  { chain }: Pick<ClientContext, 'chain'>,
  { highHandle, lowHandle }: KeyHandles,
  signal?: AbortSignal,
): Promise<void> => chain.endList(highHandle, lowHandle, signal)
