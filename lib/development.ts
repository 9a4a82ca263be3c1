import { mockChainId } from './coprocessor/coprocessor-urls.ts'
import { isLoopback } from './ip-address.ts'

/** The header with which a node asks for the mock attestation key. A page elsewhere cannot send it without a preflight, which the ICL does not answer. */
export const mockKeyHeader = 'svc-mock-key'

/** True for an ICL for development: it is on this machine, and its chain has the id of local chains, whose money is worth nothing. */
export const isForDevelopment = (icl: string, chainId: number): boolean =>
  chainId === mockChainId && isLoopback(icl)
