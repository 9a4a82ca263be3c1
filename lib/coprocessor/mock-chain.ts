import { isLoopback } from '../ip-address.ts'
import { SvcError } from '../svc-error.ts'

/** The chain id for which the coprocessor's SDK switches to mock mode. */
export const mockChainId = 31_337

/** Throws SvcError `chain-not-local` for an RPC on another machine, because the mock coprocessor takes keys in plain text. */
export function checkMockChain(rpcUrl: string): void {
  if (isLoopback(rpcUrl)) return
  // The address may hold an access key.
  throw new SvcError(
    'chain-not-local',
    `the chain RPC at ${new URL(rpcUrl).host} is not on this machine, and the coprocessor of chain ${mockChainId} takes keys in plain text`,
    { hint: 'Use an RPC on this machine (127.0.0.1), or another chain.' },
  )
}
