import type { StoredPromptKey } from './client-chain.ts'
import type { ClientContext } from './context.ts'

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
