import type { KeyList } from '../../lib/chain/key-lists.ts'
import type { OutputKey } from '../../lib/chain/output-key-of.ts'
import type { Address, Hash32, JobId } from '../../lib/codecs.ts'
import type { BlockId } from '../../lib/schemas/list.ts'
import type { ChainNode } from '../rules/eligibility.ts'
import type { ChainSlash } from '../rules/fault.ts'

/** An accepted job's result for ResultRegistry. */
export type ChainResult = {
  readonly jobId: JobId
  readonly receiptHash: Hash32
  /** The block of the job's key. Results come later. */
  readonly keyBlock: bigint
}

/** Whether a result is on chain, and deep enough to stay. */
export type Commitment =
  | { readonly state: 'absent' }
  | { readonly state: 'shallow' }
  | { readonly state: 'deep'; readonly tx: Hash32 }

/** A proposal to slash a node, for NodeRegistry. */
export type SlashProposal = {
  readonly faultId: Hash32
  readonly operator: Address
  readonly amountWei: bigint
  readonly evidenceHash: Hash32
}

/** A stored prompt key, as of its block. */
export type StoredKey = {
  readonly termsHash: Hash32
  readonly block: BlockId
  /** Of the block, Unix seconds. */
  readonly storedAt: number
}

/** The activation of a member of a list, which gives it access to the prompt key. */
export type Activation = {
  readonly high: bigint
  readonly low: bigint
  readonly jobId: JobId
  readonly members: readonly Address[]
  /** Unix seconds. */
  readonly until: number
  readonly position: number
}

/** The chain as the ICL uses it. Every call has a timeout, and throws SvcError `chain-*` when it fails. */
export interface Chain {
  /** The account that activates nodes, and sends results and accusations. */
  readonly coordinator: Address
  /** Returns the number of the newest block. Throws when the chain does not answer. */
  ping(): Promise<bigint>
  /** `timestamp` in Unix seconds. */
  latestBlock(): Promise<BlockId & { readonly timestamp: number }>
  nodeOf(address: Address): Promise<ChainNode>
  /** The same for many nodes. With `now` it does not use the cache. */
  nodesOf(addresses: readonly Address[], when?: 'now'): Promise<ReadonlyMap<Address, ChainNode>>
  /** An output key by its events in the day from a block on; undefined when the two handles are not an output key. */
  outputKeyOf(high: bigint, low: bigint, fromBlock: bigint): Promise<OutputKey | undefined>
  /** The key of `owner` whose KeyStored event is in this block of the canonical chain; undefined without such an event. Cached for 2 s, except with `now`. */
  storedKeyAt(
    owner: Address,
    high: bigint,
    low: bigint,
    blockNumber: bigint,
    when?: 'now',
  ): Promise<StoredKey | undefined>
  /** Has no commitment, either, when the two handles are not one record. */
  listOf(high: bigint, low: bigint): Promise<KeyList>
  /**
   * Gives a member of a committed list access, and waits until it is mined. `refused`: the member is not an active node. `ended`: the
   * commitment is another one, has expired, or was ended by its owner. Throws a retryable error before the commitment. Here and
   * below, the signal ends the wait, not the transaction.
   */
  activate(
    activation: Activation,
    signal?: AbortSignal,
  ): Promise<'granted' | 'refused' | 'ended' | 'other'>
  isAllowed(handle: bigint, account: Address): Promise<boolean>
  /** Returns where this very result is on chain. `sentTx` may have put it there. Throws `chain-conflict` when another result of the job is there. */
  findCommitment(result: ChainResult, sentTx: Hash32 | undefined): Promise<Commitment>
  /** Sends results, waits until they are mined, and returns the transaction. */
  commitResults(results: readonly ChainResult[], signal?: AbortSignal): Promise<Hash32>
  slashOf(faultId: Hash32): Promise<ChainSlash>
  /** Proposes a slash and waits until it is mined. Undefined when the fault was used before. Throws `stake-gone` when the operator has left with its stake. */
  proposeSlash(slash: SlashProposal, signal?: AbortSignal): Promise<Hash32 | undefined>
  /** Takes the stake and waits until it is mined. Undefined when the slash is settled, or it is too early by the chain's clock. */
  executeSlash(faultId: Hash32, signal?: AbortSignal): Promise<Hash32 | undefined>
  /** Returns the faults of the contracts and the coordinator's account, as texts for the operator. */
  findFaults(): Promise<readonly string[]>
}
