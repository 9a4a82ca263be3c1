import { abortable } from './abortable.ts'
import { toChainError } from './chain-error.ts'

/** Waits for a read of the chain until the signal aborts. Throws the signal's reason, or a chain error that names what was being done. */
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
