import { isLoopback } from '../../lib/ip-address.ts'
import { localFheChainId } from '../../lib/known-networks.ts'

/** The chain id at which nothing is encrypted for the coprocessor, and no proof is made. */
export const mockChainId = 31_337

/** Whether an account may be made up: only where money is worth nothing, on a chain of this machine. */
export const isLocalChain = (chainId: number, rpcUrl: string): boolean =>
  [mockChainId, localFheChainId].includes(chainId) && isLoopback(rpcUrl)
