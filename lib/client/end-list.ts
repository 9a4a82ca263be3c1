import type { StoredPromptKey } from './client-chain.ts'
import type { ClientContext } from './context.ts'

/** A prompt key by the handles under which PromptKeyStore has it. */
export type KeyHandles = Pick<StoredPromptKey, 'highHandle' | 'lowHandle'>

/**
 * Ends the list of a prompt key of this client on chain: the ICL can let no further node read the prompt. Nodes that may read it already still
 * may, and finish the job when they are enough; a job that needs another node ends as `list-ended`. Harmless when repeated; throws SvcError
 * `end-list-reverted` or a chain error.
 */
export const endList = (
  { chain }: Pick<ClientContext, 'chain'>,
  { highHandle, lowHandle }: KeyHandles,
  signal?: AbortSignal,
): Promise<void> => chain.endList(highHandle, lowHandle, signal)
