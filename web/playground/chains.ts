import { isLoopback } from '../../lib/ip-address.ts'
import { localFheChainId } from '../../lib/known-networks.ts'

/** The chain id with mock encryption and no proofs. */
export const mockChainId = 31_337

/** True where a throw-away account is possible: on a local chain, whose money is worth nothing. */
export const isLocalChain = (chainId: number, rpcUrl: string): boolean =>
  [mockChainId, localFheChainId].includes(chainId) && isLoopback(rpcUrl)
