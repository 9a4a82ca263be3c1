import type { Hex } from 'viem'
import { isRevert, revertNameOf, toChainError } from '../../lib/chain/chain-error.ts'
import { SvcError } from '../../lib/svc-error.ts'

/** Reads from the chain. Throws SvcError `chain-*`, whose message says what the ICL was `doing`. */
export async function reading<T>(doing: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw toChainError(error, doing)
  }
}

/** The error of a failed transaction to the contract at `to`: `chain-reverted` with the name of the contract's error, or another `chain-*`. */
export function refusalOf(error: unknown, doing: string, to: Hex): SvcError {
  if (!isRevert(error)) return toChainError(error, `${doing} at ${to}`)
  const why = revertNameOf(error) ?? 'out of gas, or a state that changed meanwhile'
  return new SvcError('chain-reverted', `${doing}: the contract at ${to} refused: ${why}`, {
    hint: 'Check the contract address and that this coordinator has the coordinator role there. What is not on chain is sent again.',
    retryable: true,
  })
}
