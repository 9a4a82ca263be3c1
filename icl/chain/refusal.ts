import type { Hex } from 'viem'
import { isRevert, revertNameOf, toChainError } from '../../lib/chain/chain-error.ts'
import { SvcError } from '../../lib/svc-error.ts'

/** What a failed transaction to the contract at `to` becomes: `chain-reverted` with the name of the contract's error, or another error of the chain. */
export function refusalOf(error: unknown, doing: string, to: Hex): SvcError {
  if (!isRevert(error)) return toChainError(error, `${doing} at ${to}`)
  const why = revertNameOf(error) ?? 'out of gas, or a state that changed meanwhile'
  return new SvcError('chain-reverted', `${doing}: the contract at ${to} refused: ${why}`, {
    hint: 'Check the contract address and that this coordinator has the coordinator role there. What is not on chain is sent again.',
    retryable: true,
  })
}
