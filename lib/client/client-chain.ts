import { type Hex, type LocalAccount, parseEventLogs, TransactionReceiptNotFoundError } from 'viem'
import { resultRegistryAbi } from '../abi/result-registry.ts'
import { chainHash } from '../chain/chain-hash.ts'
import { type ChainReader, createChainWriter } from '../chain/clients.ts'
import type { EncryptedInput } from '../chain/encrypted-input.ts'
import { commitList, endList, firstReaders, listOf } from '../chain/key-lists.ts'
import {
  activeNodes,
  type RegisteredNode,
  readNode,
  registeredNodes,
} from '../chain/node-registry.ts'
import { type OutputKey, outputKeyOf } from '../chain/output-key-of.ts'
import { storeKey } from '../chain/prompt-key-store.ts'
import { reading } from '../chain/reading.ts'
import { type StoredKey, storedKeyAt } from '../chain/stored-key-at.ts'
import { Address, Hash32, type JobId } from '../codecs.ts'
import type { ListTerms } from '../list-commitment.ts'
import type { BlockId } from '../schemas/list.ts'
import type { Network } from '../schemas/network.ts'

/** A prompt key to store: its encrypted halves, and the hash of its job's terms. */
export type PromptKey = {
  readonly high: EncryptedInput
  readonly low: EncryptedInput
  readonly termsHash: Hash32
}

/** A prompt key on chain: its handles (spec 2.4), and the block whose hash seeds its list. */
export type StoredPromptKey = {
  readonly highHandle: bigint
  readonly lowHandle: bigint
  readonly txHash: Hex
  readonly block: BlockId
}

/** What a client does on chain. */
export interface ClientChain {
  /** The chain that the RPC endpoint serves. */
  chainId(signal?: AbortSignal): Promise<number>
  /** Stores a prompt key that nobody else can read yet. */
  storeKey(key: PromptKey, signal?: AbortSignal): Promise<StoredPromptKey>
  /** The block that holds a transaction now. A reorganisation moves it to another block; meanwhile undefined. */
  blockOf(tx: Hex, signal?: AbortSignal): Promise<BlockId | undefined>
  /** Binds a stored key to a job and its list, and grants the members in `mask` (bits by position) access to it. */
  commitList(
    commitment: {
      readonly highHandle: bigint
      readonly lowHandle: bigint
      readonly terms: ListTerms
      readonly mask: number
    },
    signal?: AbortSignal,
  ): Promise<void>
  /** Ends the list of a key: no further member gets access. */
  endList(highHandle: bigint, lowHandle: bigint, signal?: AbortSignal): Promise<void>
  /** The list that a key is bound to, and the members (bits by position) that may read the key; undefined before it is bound. */
  listOf(
    highHandle: bigint,
    lowHandle: bigint,
    signal?: AbortSignal,
  ): Promise<{ readonly commitment: Hash32; readonly used: number } | undefined>
  /** The mask of members whom the owner let read a key when it committed to the list, from an event in the day from `fromBlock` on; undefined without one. */
  firstReaders(
    highHandle: bigint,
    lowHandle: bigint,
    fromBlock: bigint,
    signal?: AbortSignal,
  ): Promise<number | undefined>
  /** The prompt key that this account stored in a block; undefined when it stored none there. */
  storedKeyAt(
    highHandle: bigint,
    lowHandle: bigint,
    block: bigint,
    signal?: AbortSignal,
  ): Promise<StoredKey | undefined>
  /** An output key with every reader that events in the day from `fromBlock` on name; undefined when there is no such key. */
  outputKeyOf(
    highHandle: bigint,
    lowHandle: bigint,
    fromBlock: bigint,
    signal?: AbortSignal,
  ): Promise<OutputKey | undefined>
  /** The receipt hash that a transaction put on chain for a job; undefined when it put none or is not mined. */
  receiptHashIn(tx: Hash32, jobId: JobId, signal?: AbortSignal): Promise<Hash32 | undefined>
  /** NodeRegistry's entry of a node, now or as of a block. Not every RPC serves old blocks. */
  nodeOf(node: Address, signal?: AbortSignal, block?: bigint): Promise<RegisteredNode>
  /** Every node that ever registered; throws a chain error where the RPC does not search all blocks. */
  registeredNodes(signal?: AbortSignal): Promise<readonly Address[]>
  /** The given nodes that are active in NodeRegistry now. */
  activeNodes(nodes: readonly Address[], signal?: AbortSignal): Promise<ReadonlySet<Address>>
  /** Unix seconds of the latest block: a clock that neither this machine nor the ICL sets. */
  time(signal?: AbortSignal): Promise<number>
}

function registryOf(
  chain: ChainReader,
  registry: Address,
): Pick<ClientChain, 'nodeOf' | 'registeredNodes' | 'activeNodes'> {
  const doing = 'reading the node registry'
  return {
    nodeOf: (node, signal, block) => reading(doing, readNode(chain, registry, node, block), signal),
    registeredNodes: (signal) => reading(doing, registeredNodes(chain, registry), signal),
    activeNodes: (nodes, signal) => reading(doing, activeNodes(chain, registry, nodes), signal),
  }
}

/** Makes the client's access to a deployment's contracts, from one account. */
export function createClientChain(options: {
  readonly rpcUrl: string
  readonly network: Network
  readonly account: LocalAccount
}): ClientChain {
  const { rpcUrl, network, account } = options
  const chain = createChainWriter({ rpcUrl, chainId: network.chain_id, account, batches: true })
  const receiptOf = (doing: string, hash: Hex, signal: AbortSignal | undefined) => {
    const read = chain.publicClient.getTransactionReceipt({ hash }).catch((error: unknown) => {
      if (error instanceof TransactionReceiptNotFoundError) return undefined
      throw error
    })
    return reading(doing, read, signal)
  }
  const contract = network.contracts.prompt_key_store
  const owner = Address.parse(account.address)
  return {
    chainId: (signal) => reading('reading the chain id', chain.publicClient.getChainId(), signal),
    storeKey: ({ high, low, termsHash }, signal) =>
      storeKey({ ...chain, contract, high, low, terms: termsHash, ...(signal && { signal }) }),
    blockOf: async (tx, signal) => {
      const doing = 'reading the block of the key'
      const receipt = await receiptOf(doing, tx, signal)
      if (receipt?.status !== 'success') return undefined
      return { number: receipt.blockNumber, hash: chainHash(receipt.blockHash, doing) }
    },
    commitList: async (commitment, signal) => {
      await commitList({ ...chain, contract, ...commitment, ...(signal && { signal }) })
    },
    endList: async (highHandle, lowHandle, signal) => {
      await endList({ ...chain, contract, highHandle, lowHandle, ...(signal && { signal }) })
    },
    listOf: async (highHandle, lowHandle, signal) => {
      const { commitment, used } = await listOf(chain, contract, highHandle, lowHandle, signal)
      return commitment && { commitment, used }
    },
    firstReaders: (highHandle, lowHandle, fromBlock, signal) =>
      reading(
        'reading the first readers of a key',
        firstReaders(chain, contract, [highHandle, lowHandle], fromBlock, signal),
        signal,
      ),
    storedKeyAt: (highHandle, lowHandle, block, signal) =>
      reading(
        'reading the block of the key',
        storedKeyAt(chain, contract, owner, [highHandle, lowHandle], block),
        signal,
      ),
    outputKeyOf: (highHandle, lowHandle, fromBlock, signal) =>
      reading(
        'reading the readers of the output',
        outputKeyOf(chain, contract, [highHandle, lowHandle], fromBlock, signal),
        signal,
      ),
    receiptHashIn: async (tx, jobId, signal) => {
      const receipt = await receiptOf('reading the commitment', tx, signal)
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
    ...registryOf(chain, network.contracts.node_registry),
    time: async (signal) => {
      const block = await reading('reading the latest block', chain.publicClient.getBlock(), signal)
      return Number(block.timestamp)
    },
  }
}
