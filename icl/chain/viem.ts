import { encodeFunctionData, type LocalAccount } from 'viem'
import { resultRegistryAbi } from '../../lib/abi/result-registry.ts'
import { causes, whatOf } from '../../lib/causes.ts'
import { chainHash } from '../../lib/chain/chain-hash.ts'
import { type ChainEndpoint, createChainWriter, usualPollingMs } from '../../lib/chain/clients.ts'
import type { Stalled } from '../../lib/chain/flight.ts'
import { createSender } from '../../lib/chain/sender.ts'
import { isAllowed } from '../../lib/chain/task-manager.ts'
import type { Clock } from '../../lib/clock.ts'
import { Address, type Hash32 } from '../../lib/codecs.ts'
import type { Chain, ChainResult } from './chain.ts'
import { findCommitment } from './find-commitment.ts'
import { findFaults } from './find-faults.ts'
import { createKeyLists } from './key-lists.ts'
import { createNodeStates } from './node-states.ts'
import { reading, refusalOf } from './reading.ts'
import { createSlashes } from './slashes.ts'

const abi = resultRegistryAbi

type CommittedBatch = { readonly tx: Hash32; readonly results: number; readonly gasUsed: bigint }

/** Where the contracts are, who sends, and how deep an event must be to count. */
export type ViemChainOptions = ChainEndpoint & {
  readonly account: LocalAccount
  readonly nodeRegistry: Address
  readonly promptKeyStore: Address
  readonly resultRegistry: Address
  readonly confirmations: number
  readonly clock: Clock
  /** After how many milliseconds without progress a transaction is sent again with higher fees; 30 s by default. */
  readonly stuckMs?: number
  /** Called with the reason when no block includes the sent transactions. */
  readonly onStalled?: (reason: string) => void
  /** Called for each mined transaction with results. */
  readonly onCommitted?: (batch: CommittedBatch) => void
}

/** The chain over JSON-RPC. The states of nodes are cached for 15 s. */
export function createViemChain(options: ViemChainOptions): Chain {
  const { clock, stuckMs = 30_000, chainId } = options
  const writer = createChainWriter(options)
  const { publicClient } = writer
  const pollMs = options.pollingIntervalMs ?? usualPollingMs(chainId)
  const onStalled = (stalled: Stalled) => options.onStalled?.(stallText(stalled))
  const sender = createSender(writer, clock, { pollMs, stuckMs, onStalled })
  const nodesOf = createNodeStates(publicClient, options.nodeRegistry, clock)

  const coordinator = Address.parse(options.account.address)

  return {
    coordinator,
    ping: () => reading('asking for the block number', () => publicClient.getBlockNumber()),
    latestBlock: async () => {
      const block = await reading('reading the latest block', () => publicClient.getBlock())
      return {
        number: block.number,
        hash: chainHash(block.hash, 'reading the latest block'),
        timestamp: Number(block.timestamp),
      }
    },
    nodesOf,
    nodeOf: async (address) => {
      const node = (await nodesOf([address])).get(address)
      if (!node) throw new TypeError('the chain returned no state for a node that was asked for')
      return node
    },
    ...createKeyLists(writer, sender, options.promptKeyStore, coordinator),
    isAllowed: (handle, account) => isAllowed(writer, handle, account),
    findCommitment: (result, sentTx) => findCommitment(publicClient, options, result, sentTx),
    commitResults: async (results, signal) => {
      const call = commitCall(options, results)
      const doing = `committing results as ${options.account.address}`
      const sent = sender.send(call, 'result', signal).catch((error: unknown) => {
        signal?.throwIfAborted()
        throw refusalOf(error, doing, call.to)
      })
      const { transactionHash, gasUsed } = await sent
      const tx = chainHash(transactionHash, doing)
      options.onCommitted?.({ tx, results: results.length, gasUsed })
      return tx
    },
    ...createSlashes(publicClient, sender, options),
    findFaults: async () => {
      const stalled = sender.stalled()
      const faults = await findFaults(writer, options)
      return stalled === undefined ? faults : [...faults, stallText(stalled)]
    },
  }
}

const stallText = ({ count, ms }: Stalled): string =>
  `${whatOf('chain-no-blocks')} (${count}, for ${Math.round(ms / 1000)} s): ${causes['chain-no-blocks'].remedy}`

function commitCall({ resultRegistry: to }: ViemChainOptions, results: readonly ChainResult[]) {
  const functionName = 'commitResults'
  const data = encodeFunctionData({ abi, functionName, args: [results] })
  return { to, abi, functionName, data }
}
