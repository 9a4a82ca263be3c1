import { encodeFunctionData, type LocalAccount, parseEventLogs } from 'viem'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { promptKeyStoreAbi } from '../../lib/abi/prompt-key-store.ts'
import { resultRegistryAbi } from '../../lib/abi/result-registry.ts'
import { revertNameOf, toChainError } from '../../lib/chain/chain-error.ts'
import { type ChainEndpoint, createChainWriter } from '../../lib/chain/clients.ts'
import { type ContractCall, sendCall } from '../../lib/chain/send.ts'
import { isAllowed } from '../../lib/chain/task-manager.ts'
import type { Clock } from '../../lib/clock.ts'
import { Address, type Hash32 } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { ChainNode } from '../rules/eligibility.ts'
import type { Chain, ChainResult, Commitment } from './chain.ts'

/** Where the contracts are, who sends, and how deep an event must be to count. */
export type ViemChainOptions = ChainEndpoint & {
  readonly account: LocalAccount
  readonly nodeRegistry: Address
  readonly promptKeyStore: Address
  readonly resultRegistry: Address
  readonly confirmations: number
  readonly clock: Clock
}

const nodeCacheMs = 15_000
const weiPerGwei = 1_000_000_000n
const searchedBlocks = 9_000n
const noOwner = '0x0000000000000000000000000000000000000000'

/** The chain over JSON-RPC. What it says of a node is remembered for 15 s. */
export function createViemChain(options: ViemChainOptions): Chain {
  const writer = createChainWriter(options)
  const { publicClient } = writer
  const registry = { address: options.nodeRegistry, abi: nodeRegistryAbi } as const
  const keyStore = { address: options.promptKeyStore, abi: promptKeyStoreAbi } as const

  const nodes = new Map<Address, { at: number; node: Promise<ChainNode> }>()
  const readNode = async (address: Address): Promise<ChainNode> => {
    const state = await reading('reading NodeRegistry', () =>
      publicClient.readContract({ ...registry, functionName: 'nodeOf', args: [address] }),
    )
    return {
      registered: state.registeredAt !== 0n,
      active: state.active,
      unbonding: state.unbondingAt !== 0n,
      modelTiers: [...state.modelTiers],
      slashedGwei: Number(state.slashed / weiPerGwei),
    }
  }

  return {
    coordinator: Address.parse(options.account.address),
    ping: async () => {
      await reading('asking for the block number', () => publicClient.getBlockNumber())
    },
    latestBlock: async () => {
      const block = await reading('reading the latest block', () => publicClient.getBlock())
      return { number: block.number, hash: block.hash }
    },
    nodeOf: (address) => {
      const now = options.clock.now()
      const known = nodes.get(address)
      if (known && now - known.at < nodeCacheMs) return known.node
      const node = readNode(address)
      nodes.set(address, { at: now, node })
      node.catch(() => nodes.delete(address))
      return node
    },
    keyRecordOf: async (high, low) => {
      const [owner, delegate, grantsLeft, until] = await reading('reading PromptKeyStore', () =>
        publicClient.readContract({ ...keyStore, functionName: 'recordOf', args: [high, low] }),
      )
      if (owner === noOwner) return undefined
      return {
        owner: Address.parse(owner),
        delegate: Address.parse(delegate),
        grantsLeft,
        until: Number(until),
      }
    },
    isAllowed: (handle, account) => isAllowed(writer, handle, account),
    grantAccess: (high, low, reader) => grantAccess(writer, options, [high, low, reader]),
    findCommitment: (result, sentTx) => findCommitment(writer, options, result, sentTx),
    commitResults: (results) =>
      send(writer, 'committing results', {
        to: options.resultRegistry,
        abi: resultRegistryAbi,
        functionName: 'commitResults',
        data: encodeFunctionData({
          abi: resultRegistryAbi,
          functionName: 'commitResults',
          args: [results.map(onChain)],
        }),
      }),
  }
}

const onChain = (result: ChainResult) => ({
  jobId: result.jobId,
  outputCidHash: result.outputCidHash,
  receiptHash: result.receiptHash,
  leader: result.leader,
  matchCount: result.matches,
  noMatchCount: result.noMatches,
  verifiers: result.verifiers,
})

type Writer = ReturnType<typeof createChainWriter>

async function reading<T>(doing: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw toChainError(error, doing)
  }
}

async function send(writer: Writer, doing: string, call: ContractCall): Promise<Hash32> {
  try {
    const receipt = await sendCall(writer, call)
    if (receipt.status === 'success') return receipt.transactionHash
  } catch (error) {
    const revert = revertNameOf(error)
    if (revert === undefined) throw toChainError(error, doing)
    throw reverted(doing, call, revert)
  }
  throw reverted(doing, call, 'out of gas, or a state that changed meanwhile')
}

const reverted = (doing: string, { to }: ContractCall, why: string): SvcError =>
  new SvcError('chain-reverted', `${doing}: the contract at ${to} refused: ${why}`, {
    hint: 'Check the contract address and that this coordinator has the coordinator role there.',
    retryable: true,
  })

/** Finds out whether this very result is on chain, and which transaction put it there. */
async function findCommitment(
  { publicClient }: Writer,
  { resultRegistry, confirmations }: ViemChainOptions,
  result: ChainResult,
  sentTx: Hash32 | undefined,
): Promise<Commitment> {
  const doing = `reading ResultRegistry at ${resultRegistry}`
  const contract = { address: resultRegistry, abi: resultRegistryAbi } as const
  const [recorded, committedAt] = await reading(doing, () =>
    publicClient.readContract({ ...contract, functionName: 'resultOf', args: [result.jobId] }),
  )
  if (committedAt === 0n) return { state: 'absent' }
  if (recorded.receiptHash !== result.receiptHash) {
    throw new SvcError(
      'chain-conflict',
      `${doing}: it holds another result of job ${result.jobId}`,
      {
        hint: 'Two coordinators settled one job differently; keep both logs and ask the operator.',
      },
    )
  }
  const latest = await reading(doing, () => publicClient.getBlockNumber())
  const found = await findEvent(publicClient, resultRegistry, result, sentTx, latest)
  if (!found) {
    throw new SvcError(
      'chain-event-missing',
      `${doing}: the result of job ${result.jobId} stands there, but not its event`,
      {
        hint: 'Its transaction is older than the RPC searches; nothing is lost.',
      },
    )
  }
  if (latest - found.block + 1n < BigInt(confirmations)) return { state: 'shallow' }
  return { state: 'deep', tx: found.tx }
}

type Found = { readonly tx: Hash32; readonly block: bigint }

/** The transaction that committed a result: the one that was sent, or whichever did within the blocks that RPCs search. */
async function findEvent(
  publicClient: Writer['publicClient'],
  resultRegistry: Address,
  result: ChainResult,
  sentTx: Hash32 | undefined,
  latest: bigint,
): Promise<Found | undefined> {
  const doing = `reading ResultRegistry at ${resultRegistry}`
  const isThis = ({
    args,
  }: {
    args: { jobId?: Hash32 | undefined; receiptHash?: Hash32 | undefined }
  }) => args.jobId === result.jobId && args.receiptHash === result.receiptHash
  const sent =
    sentTx && (await publicClient.getTransactionReceipt({ hash: sentTx }).catch(() => undefined))
  const own = parseEventLogs({
    abi: resultRegistryAbi,
    eventName: 'ResultCommitted',
    logs: sent?.status === 'success' ? sent.logs : [],
  }).find(isThis)
  if (own) return { tx: own.transactionHash, block: own.blockNumber }
  // What was sent last may have found the result there already, sent before by a process that ended.
  const logs = await reading(doing, () =>
    publicClient.getContractEvents({
      address: resultRegistry,
      abi: resultRegistryAbi,
      eventName: 'ResultCommitted',
      args: { jobId: result.jobId },
      // Public endpoints refuse to search all blocks; a result is looked for soon after it was sent.
      fromBlock: latest > searchedBlocks ? latest - searchedBlocks : 0n,
    }),
  )
  const log = logs.find(isThis)
  return log && { tx: log.transactionHash, block: log.blockNumber }
}

/** Grants as the delegate; what the contract refuses for good is told from what may pass. */
async function grantAccess(
  writer: Writer,
  { promptKeyStore }: ViemChainOptions,
  args: readonly [bigint, bigint, Address],
): Promise<'granted' | 'refused' | 'exhausted'> {
  const abi = promptKeyStoreAbi
  const functionName = 'grantAccess'
  const call = {
    to: promptKeyStore,
    abi,
    functionName,
    data: encodeFunctionData({ abi, functionName, args }),
  }
  try {
    const receipt = await sendCall(writer, call)
    if (receipt.status === 'success') return 'granted'
  } catch (error) {
    const revert = revertNameOf(error)
    if (revert === 'NodeNotActive') return 'refused'
    if (revert === 'NoGrantsLeft' || revert === 'DelegationExpired') return 'exhausted'
    if (revert === undefined) throw toChainError(error, 'granting access')
    throw reverted('granting access', call, revert)
  }
  throw reverted('granting access', call, 'out of gas, or a state that changed meanwhile')
}
