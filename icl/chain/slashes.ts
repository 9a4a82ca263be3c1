import { encodeFunctionData, type PublicClient } from 'viem'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { isRevert, revertNameOf, toChainError } from '../../lib/chain/chain-error.ts'
import { chainHash } from '../../lib/chain/chain-hash.ts'
import { isRangeRefused } from '../../lib/chain/search-blocks.ts'
import { type Address, Hash32 } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { ChainSlash } from '../rules/fault.ts'
import type { Chain } from './chain.ts'
import { firstBlockSince, missingEvent } from './find-commitment.ts'
import { reading } from './reading.ts'
import type { Sender } from './sender.ts'

type Registry = { readonly nodeRegistry: Address; readonly confirmations: number }

const abi = nodeRegistryAbi
const noHash = `0x${'0'.repeat(64)}`
const blocksAtOnce = 5_000n
const mostRounds = 2_000

/** Reverts that need no action: another replica was faster, or the chain's clock is behind. */
const passing: ReadonlySet<string> = new Set(['FaultAlreadyUsed', 'SlashNotPending', 'TooEarly'])

/** Slashes at NodeRegistry. */
export const createSlashes = (
  publicClient: PublicClient,
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
  publicClient: PublicClient,
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

/** Finds the event that settled a slash. Searches back to the proposal in parts, and halves a part that an endpoint refuses as too long. */
async function findEnd(
  publicClient: PublicClient,
  address: Address,
  faultId: Hash32,
  executableAt: number,
): Promise<End | undefined> {
  const contract = { address, abi } as const
  const window = await publicClient.readContract({ ...contract, functionName: 'SLASH_WINDOW' })
  const latest = await publicClient.getBlockNumber()
  const first = await firstBlockSince(publicClient, BigInt(executableAt) - window, latest)
  let toBlock = latest
  let size = blocksAtOnce
  for (let round = 0; round < mostRounds && toBlock >= first; round++) {
    const oldest = toBlock - size + 1n
    const range = { fromBlock: oldest > first ? oldest : first, toBlock, args: { faultId } }
    const found = await Promise.all([
      publicClient.getContractEvents({ ...contract, ...range, eventName: 'SlashExecuted' }),
      publicClient.getContractEvents({ ...contract, ...range, eventName: 'SlashCancelled' }),
    ]).catch((error: unknown) => {
      if (size === 1n || !isRangeRefused(error)) throw error
    })
    if (found === undefined) {
      size /= 2n
      continue
    }
    toBlock -= size
    const [[executed], [cancelled]] = found
    const end = executed ?? cancelled
    if (!end) continue
    const tx = chainHash(end.transactionHash, 'reading NodeRegistry')
    const slash: ChainSlash = executed
      ? { state: 'executed', tx, takenWei: executed.args.amount ?? 0n }
      : { state: 'cancelled', tx }
    return { slash, depth: latest - end.blockNumber + 1n }
  }
  return undefined
}
