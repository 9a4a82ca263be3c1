import { encodeFunctionData } from 'viem'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { isRevert, revertNameOf, toChainError } from '../../lib/chain/chain-error.ts'
import { chainHash } from '../../lib/chain/chain-hash.ts'
import type { ReadClient } from '../../lib/chain/clients.ts'
import type { Sender } from '../../lib/chain/sender.ts'
import { type Address, Hash32 } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { ChainSlash } from '../rules/fault.ts'
import type { Chain } from './chain.ts'
import { reading } from './reading.ts'
import { missingEvent, searchBack } from './search-back.ts'

type Registry = { readonly nodeRegistry: Address; readonly confirmations: number }

const abi = nodeRegistryAbi
const noHash = `0x${'0'.repeat(64)}`

/** Reverts that need no action: another replica was faster, or the chain's clock is behind. */
const passing: ReadonlySet<string> = new Set(['FaultAlreadyUsed', 'SlashNotPending', 'TooEarly'])

/** Slashes at NodeRegistry. */
export const createSlashes = (
  publicClient: ReadClient,
  sender: Sender,
  registry: Registry,
): Pick<Chain, 'slashOf' | 'proposeSlash' | 'executeSlash'> => {
  const { nodeRegistry } = registry
  const send = async (
    call: Parameters<typeof encodeFunctionData<typeof abi>>[0],
    doing: string,
    signal: AbortSignal | undefined,
  ): Promise<Hash32 | undefined> => {
    const functionName = call.functionName ?? doing
    const data = encodeFunctionData(call)
    try {
      const transaction = { to: nodeRegistry, abi, functionName, data }
      const sent = await sender.send(transaction, 'result', signal)
      return chainHash(sent.transactionHash, doing)
    } catch (error) {
      signal?.throwIfAborted()
      const revert = revertNameOf(error)
      if (revert !== undefined && passing.has(revert)) return undefined
      if (revert !== undefined || isRevert(error)) throw refused(doing, nodeRegistry, revert)
      throw toChainError(error, `${doing} at ${nodeRegistry}`)
    }
  }
  return {
    slashOf: (faultId) => findSlash(publicClient, registry, faultId),
    proposeSlash: ({ faultId, operator, amountWei, evidenceHash }, signal) => {
      const args = [faultId, operator, amountWei, evidenceHash] as const
      return send({ abi, functionName: 'proposeSlash', args }, 'proposing a slash', signal)
    },
    executeSlash: (faultId, signal) =>
      send({ abi, functionName: 'executeSlash', args: [faultId] }, 'executing a slash', signal),
  }
}

const remedies: Readonly<Record<string, string>> = {
  MissingRole: 'Give the account of this ICL the coordinator role at NodeRegistry.',
  NotRegistered: 'The operator has left NodeRegistry: there is no stake to slash.',
  UnbondingOver: 'The operator may withdraw already, and can no longer be accused.',
}

/** Reverts that show that there is no stake to take, unless its operator comes back. */
const gone: ReadonlySet<string> = new Set(['NotRegistered', 'UnbondingOver'])

function refused(doing: string, at: Address, revert = 'no reason given'): SvcError {
  const code = gone.has(revert) ? 'stake-gone' : 'chain-reverted'
  const hint = remedies[revert] ?? 'Check the contract address and the roles there.'
  const message = `${doing}: NodeRegistry at ${at} refused: ${revert}`
  return new SvcError(code, message, { hint, retryable: true })
}

async function findSlash(
  publicClient: ReadClient,
  { nodeRegistry: address, confirmations }: Registry,
  faultId: Hash32,
): Promise<ChainSlash> {
  const doing = `reading NodeRegistry at ${address}`
  const contract = { address, abi } as const
  const slash = await reading(doing, () =>
    publicClient.readContract({ ...contract, functionName: 'slashOf', args: [faultId] }),
  )
  const executableAt = Number(slash.executableAt)
  if (executableAt === 0) return { state: 'absent' }
  if (!slash.settled) {
    return {
      state: 'proposed',
      executableAt,
      amountWei: slash.amount,
      evidenceHash: Hash32.parse(slash.evidenceHash),
      ...(slash.answerHash !== noHash && { answerHash: Hash32.parse(slash.answerHash) }),
    }
  }
  const end = await reading(doing, () => findEnd(publicClient, address, faultId, executableAt))
  if (end) return end.depth < BigInt(confirmations) ? { state: 'shallow' } : end.slash
  const message = `${doing}: slash ${faultId} is settled, but how?`
  throw new SvcError('chain-event-missing', message, missingEvent)
}

type End = { readonly slash: ChainSlash; readonly depth: bigint }

/** Finds the event that settled a slash, in the blocks since the proposal. */
async function findEnd(
  publicClient: ReadClient,
  address: Address,
  faultId: Hash32,
  executableAt: number,
): Promise<End | undefined> {
  const contract = { address, abi } as const
  const window = await publicClient.readContract({ ...contract, functionName: 'SLASH_WINDOW' })
  const latest = await publicClient.getBlockNumber()
  const first = await firstBlockSince(publicClient, BigInt(executableAt) - window, latest)
  return searchBack({ first, latest }, async (range) => {
    const about = { ...contract, ...range, args: { faultId } }
    const [[executed], [cancelled]] = await Promise.all([
      publicClient.getContractEvents({ ...about, eventName: 'SlashExecuted' }),
      publicClient.getContractEvents({ ...about, eventName: 'SlashCancelled' }),
    ])
    const end = executed ?? cancelled
    if (!end) return undefined
    const tx = chainHash(end.transactionHash, 'reading NodeRegistry')
    const slash: ChainSlash = executed
      ? { state: 'executed', tx, takenWei: executed.args.amount ?? 0n }
      : { state: 'cancelled', tx }
    return { slash, depth: latest - end.blockNumber + 1n }
  })
}

/** Returns the first block that is not older than a time (Unix seconds). */
async function firstBlockSince(
  publicClient: ReadClient,
  time: bigint,
  latest: bigint,
): Promise<bigint> {
  let [low, high] = [0n, latest]
  while (low < high) {
    const middle = (low + high) / 2n
    const { timestamp } = await publicClient.getBlock({ blockNumber: middle })
    if (timestamp < time) low = middle + 1n
    else high = middle
  }
  return low
}
