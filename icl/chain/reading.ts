import { toChainError } from '../../lib/chain/chain-error.ts'

/** Reads from the chain; a failure becomes SvcError `chain-*` that says what was being done. */
export async function reading<T>(doing: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw toChainError(error, doing)
  }
}
