import type { Hex } from 'viem'
import type { EncryptedInput } from '../../lib/chain/encrypted-input.ts'
import type { Address, Hash32, JobId } from '../../lib/codecs.ts'
import type { NewestBlock } from './behind.ts'
import type { Registration } from './registry.ts'

/** An output key, and the list that gives its node and its readers access to the prompt key. */
export type OutputKey = {
  readonly high: EncryptedInput
  readonly low: EncryptedInput
  readonly promptHigh: bigint
  readonly jobId: JobId
  readonly activator: Address
  /** Unix seconds. */
  readonly until: number
  readonly list: readonly Address[]
  /** This node's position on the list. */
  readonly self: number
  /** The positions of the nodes that may read the key, besides the client and this node. */
  readonly checkers: readonly number[]
}

/** A wallet that can pay for fewer answers needs gas money soon. */
export const fewAnswers = 10

/** The contracts as the node uses them (spec 4). Every call throws chain errors (spec 7). */
export interface NodeChain {
  /** Undefined when the wallet is not registered. */
  registration(
    signal?: AbortSignal,
  ): Promise<Pick<Registration, 'lastHeartbeat' | 'modelTiers'> | undefined>
  /** How many answers the wallet can pay to deliver. */
  answersPaidFor(signal?: AbortSignal): Promise<number>
  /** The newest block that the RPC knows. */
  newestBlock(signal?: AbortSignal): Promise<NewestBlock>
  /** Uses the next RPC of several, if the one at this host is in use. */
  leaveRpc(host: string): void
  /** Returns the list commitment that a prompt key is bound to, undefined before the commitment. */
  listCommitmentOf(high: bigint, low: bigint, signal?: AbortSignal): Promise<Hash32 | undefined>
  /** Sends `NodeRegistry.heartbeat()`, which costs gas. Returns the transaction hash. */
  sendHeartbeat(signal?: AbortSignal): Promise<Hex>
  /** Stores an output key in PromptKeyStore. Its readers can never change. Returns the stored handles, the transaction and its gas. */
  storeOutputKey(
    key: OutputKey,
    signal?: AbortSignal,
  ): Promise<{
    readonly highHandle: bigint
    readonly lowHandle: bigint
    readonly txHash: Hex
    readonly gasUsed: bigint
  }>
}
