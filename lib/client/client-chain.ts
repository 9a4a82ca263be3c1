import { type Hex, type LocalAccount, parseEventLogs, TransactionReceiptNotFoundError } from 'viem'
import { nodeRegistryAbi } from '../abi/node-registry.ts'
import { resultRegistryAbi } from '../abi/result-registry.ts'
import { abortable } from '../chain/abortable.ts'
import { toChainError } from '../chain/chain-error.ts'
import { createChainWriter } from '../chain/clients.ts'
import { storeKey } from '../chain/prompt-key-store.ts'
import { type Address, Hash32, type JobId } from '../codecs.ts'
import type { EncryptedInput } from '../coprocessor/coprocessor.ts'
import type { Network } from '../schemas/network.ts'

/** A prompt key to store: its halves, who may read it, and who may let more nodes read it until `until` (Unix seconds). */
export type PromptKey = {
  readonly high: EncryptedInput
  readonly low: EncryptedInput
  readonly readers: readonly Address[]
  readonly delegation?: {
    readonly delegate: Address
    readonly maxGrants: number
    readonly until: number
  }
}

/** What a client does on chain. */
export interface ClientChain {
  /** The chain that the RPC endpoint serves. */
  chainId(signal?: AbortSignal): Promise<number>
  /** Stores a prompt key; the handles are those to hand out (spec 2.4). */
  storeKey(
    key: PromptKey,
    signal?: AbortSignal,
  ): Promise<{ readonly highHandle: bigint; readonly lowHandle: bigint; readonly txHash: Hex }>
  /** The receipt hash that a transaction put on chain for a job; undefined when it did not, or is not mined. */
  receiptHashIn(tx: Hash32, jobId: JobId, signal?: AbortSignal): Promise<Hash32 | undefined>
  /** What NodeRegistry says of a node. */
  nodeOf(
    node: Address,
    signal?: AbortSignal,
  ): Promise<{
    readonly active: boolean
    /** Whether it has the least stake there now; a node that is leaving still has, until it withdraws it. */
    readonly staked: boolean
    readonly modelTiers: readonly number[]
  }>
  /** Unix seconds of the latest block: a time that neither this machine nor the ICL makes up. */
  time(signal?: AbortSignal): Promise<number>
}

/** Reaches the contracts of a deployment from one account. */
export function createClientChain(options: {
  readonly rpcUrl: string
  readonly network: Network
  readonly account: LocalAccount
}): ClientChain {
  const { rpcUrl, network, account } = options
  const chain = createChainWriter({ rpcUrl, chainId: network.chain_id, account })
  const reading = async <T>(
    doing: string,
    work: Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> => {
    try {
      return await abortable(work, signal)
    } catch (error) {
      signal?.throwIfAborted()
      throw toChainError(error, doing)
    }
  }
  return {
    chainId: (signal) => reading('reading the chain id', chain.publicClient.getChainId(), signal),
    storeKey: ({ high, low, readers, delegation }, signal) =>
      storeKey({
        ...chain,
        contract: network.contracts.prompt_key_store,
        high,
        low,
        readers,
        ...delegation,
        ...(signal && { signal }),
      }),
    receiptHashIn: async (tx, jobId, signal) => {
      const read = chain.publicClient
        .getTransactionReceipt({ hash: tx })
        .catch((error: unknown) => {
          if (error instanceof TransactionReceiptNotFoundError) return undefined
          throw error
        })
      const receipt = await reading('reading the commitment', read, signal)
      if (receipt?.status !== 'success') return undefined
      const logs = receipt.logs.filter(
        ({ address }) => address.toLowerCase() === network.contracts.result_registry,
      )
      const committed = parseEventLogs({
        abi: resultRegistryAbi,
        eventName: 'ResultCommitted',
        logs,
      }).find(({ args }) => args.jobId === jobId)
      return committed && Hash32.parse(committed.args.receiptHash)
    },
    nodeOf: async (node, signal) => {
      const contract = { address: network.contracts.node_registry, abi: nodeRegistryAbi } as const
      const { publicClient } = chain
      const read = Promise.all([
        publicClient.readContract({ ...contract, functionName: 'nodeOf', args: [node] }),
        publicClient.readContract({ ...contract, functionName: 'minStake' }),
      ])
      const [state, minStake] = await reading('reading the node registry', read, signal)
      return {
        active: state.active,
        staked: state.registeredAt > 0n && state.stake >= minStake,
        modelTiers: state.modelTiers,
      }
    },
    time: async (signal) => {
      const block = await reading('reading the latest block', chain.publicClient.getBlock(), signal)
      return Number(block.timestamp)
    },
  }
}
