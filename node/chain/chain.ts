import type { Hex } from 'viem'
import type { EncryptedInput } from '../../lib/chain/encrypted-input.ts'
import type { Address, Hash32, JobId } from '../../lib/codecs.ts'

/** What NodeRegistry knows of this node; times in Unix seconds. */
type Registration = {
  readonly lastHeartbeat: number
  readonly modelTiers: readonly number[]
}

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
  /** The positions of the nodes that may read it, besides the client and this node. */
  readonly checkers: readonly number[]
}

/** The contracts as the node uses them (spec 4); every call throws chain errors (spec 7). */
export interface NodeChain {
  /** Undefined when the wallet is not registered. */
  registration(signal?: AbortSignal): Promise<Registration | undefined>
  /** What a prompt key is bound to (`listCommitment`); undefined before it is. */
  listCommitmentOf(high: bigint, low: bigint, signal?: AbortSignal): Promise<Hash32 | undefined>
  /** Sends `NodeRegistry.heartbeat()`, which costs gas; gives the transaction's hash. */
  sendHeartbeat(signal?: AbortSignal): Promise<Hex>
  /** Stores an output key in PromptKeyStore, whose readers can never change; gives the stored handles, and what it took. */
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
