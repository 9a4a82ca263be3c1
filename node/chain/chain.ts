import type { Hex } from 'viem'
import type { Address, Hash32 } from '../../lib/codecs.ts'
import type { EncryptedInput } from '../../lib/coprocessor/coprocessor.ts'

/** What NodeRegistry knows of this node; times in Unix seconds. */
type Registration = {
  readonly lastHeartbeat: number
  readonly modelTiers: readonly number[]
}

/** The leader's output key: both encrypted halves, who may read it, and who may let others read it until when (Unix seconds). */
export type OutputKey = {
  readonly high: EncryptedInput
  readonly low: EncryptedInput
  readonly readers: readonly Address[]
  readonly delegate: Address
  readonly until: number
}

/** The contracts as the node uses them (spec 4); every call throws chain errors (spec 7). */
export interface NodeChain {
  /** Undefined when the wallet is not registered. */
  registration(signal?: AbortSignal): Promise<Registration | undefined>
  /** What a prompt key is bound to (`listCommitment`); undefined before it is. */
  listCommitmentOf(high: bigint, low: bigint, signal?: AbortSignal): Promise<Hash32 | undefined>
  /** Sends `NodeRegistry.heartbeat()`, which costs gas; gives the transaction's hash. */
  sendHeartbeat(signal?: AbortSignal): Promise<Hex>
  /** Stores a key in PromptKeyStore; gives the stored handles, and what it took. */
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
