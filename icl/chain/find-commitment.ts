import {
  AbiDecodingDataSizeTooSmallError,
  ContractFunctionZeroDataError,
  type Hex,
  parseEventLogs,
  zeroHash,
} from 'viem'
import { resultRegistryAbi } from '../../lib/abi/result-registry.ts'
import { causesOf, isRevert, toChainError } from '../../lib/chain/chain-error.ts'
import { chainHash } from '../../lib/chain/chain-hash.ts'
import type { ReadClient } from '../../lib/chain/clients.ts'
import type { Address, Hash32 } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { ChainResult, Commitment } from './chain.ts'
import { contractFault } from './find-faults.ts'
import { reading } from './reading.ts'
import { missingEvent, searchBack } from './search-back.ts'

type Registry = { readonly resultRegistry: Address; readonly confirmations: number }

/** Returns whether this very result is on chain, and which transaction put it there. */
export async function findCommitment(
  publicClient: ReadClient,
  { resultRegistry, confirmations }: Registry,
  result: ChainResult,
  sentTx: Hash32 | undefined,
): Promise<Commitment> {
  const doing = `reading ResultRegistry at ${resultRegistry}`
  const receiptHash = await readResult(publicClient, resultRegistry, result)
  if (receiptHash === zeroHash) return { state: 'absent' }
  const latest = await reading(doing, () => publicClient.getBlockNumber())
  const recorded = { ...result, receiptHash }
  const found =
    (await findSent(publicClient, recorded, sentTx)) ??
    (await reading(doing, () => findEvent(publicClient, resultRegistry, recorded, latest)))
  if (!found) {
    const message = `${doing}: the result of job ${result.jobId} stands there, but not its event`
    throw new SvcError('chain-event-missing', message, missingEvent)
  }
  if (latest - found.block + 1n < BigInt(confirmations)) return { state: 'shallow' }
  if (receiptHash === result.receiptHash) return { state: 'deep', tx: found.tx }
  const hint =
    'The job was settled before with another receipt, for example before a backup was restored. Nothing changes a result on chain.'
  const message = `${doing}: it holds another result of job ${result.jobId}`
  throw new SvcError('chain-conflict', message, { hint })
}

async function readResult(
  publicClient: ReadClient,
  resultRegistry: Address,
  { jobId }: ChainResult,
) {
  const contract = { address: resultRegistry, abi: resultRegistryAbi } as const
  try {
    return await publicClient.readContract({ ...contract, functionName: 'resultOf', args: [jobId] })
  } catch (error) {
    const isAnswered = isRevert(error) || causesOf(error).some(isNoData)
    const fault = isAnswered
      ? await contractFault(publicClient, 'ResultRegistry', resultRegistry).catch(() => undefined)
      : undefined
    if (fault === undefined)
      throw toChainError(error, `reading ResultRegistry at ${resultRegistry}`)
    throw new SvcError('chain-contract-wrong', fault, {
      hint: 'Set SVC_ICL_RESULT_REGISTRY to the contract, or deploy it there. Results wait until then.',
      retryable: true,
      cause: error,
    })
  }
}

// Another contract answers with nothing, or with something that is no result.
const isNoData = (cause: unknown): boolean =>
  cause instanceof ContractFunctionZeroDataError ||
  cause instanceof AbiDecodingDataSizeTooSmallError

type Recorded = Pick<ChainResult, 'jobId' | 'keyBlock'> & { readonly receiptHash: Hex }

type Found = { readonly tx: Hash32; readonly block: bigint }

/** The event of a recorded result in the transaction that was sent for it. */
async function findSent(
  publicClient: ReadClient,
  result: Recorded,
  sentTx: Hash32 | undefined,
): Promise<Found | undefined> {
  if (sentTx === undefined) return undefined
  // A receipt that cannot be read is as good as none: the event is searched for.
  const logs = await publicClient
    .getTransactionReceipt({ hash: sentTx })
    .then((sent) =>
      parseEventLogs({
        abi: resultRegistryAbi,
        eventName: 'ResultCommitted',
        logs: sent.status === 'success' ? sent.logs : [],
      }),
    )
    .catch(() => [])
  return foundIn(logs, result)
}

type ResultLog = {
  readonly args: { jobId?: Hex | undefined; receiptHash?: Hex | undefined }
  readonly transactionHash: Hex
  readonly blockNumber: bigint
}

function foundIn(logs: readonly ResultLog[], result: Recorded): Found | undefined {
  const log = logs.find(
    ({ args }) => args.jobId === result.jobId && args.receiptHash === result.receiptHash,
  )
  if (!log) return undefined
  const tx = chainHash(log.transactionHash, 'reading ResultRegistry')
  return { tx, block: log.blockNumber }
}

/** The event of a recorded result that another transaction put there. It is younger than the job's key. */
const findEvent = (
  publicClient: ReadClient,
  resultRegistry: Address,
  result: Recorded,
  latest: bigint,
): Promise<Found | undefined> =>
  searchBack({ first: result.keyBlock, latest }, async (range) => {
    const logs = await publicClient.getContractEvents({
      address: resultRegistry,
      abi: resultRegistryAbi,
      eventName: 'ResultCommitted',
      args: { jobId: result.jobId },
      ...range,
    })
    return foundIn(logs, result)
  })
