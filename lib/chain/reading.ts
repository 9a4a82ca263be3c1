import { abortable } from './abortable.ts'
import { toChainError } from './chain-error.ts'

/** Waits for what is read of the chain, until the signal aborts; throws its reason, or a chain error that says what was being done. */
export const reading = async <T>(
  doing: string,
  read: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> => {
  try {
    return await abortable(read, signal)
  } catch (error) {
    signal?.throwIfAborted()
    throw toChainError(error, doing)
  }
}
