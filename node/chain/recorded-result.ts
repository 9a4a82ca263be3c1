import { resultRegistryAbi } from '../../lib/abi/result-registry.ts'
import { createChainReader } from '../../lib/chain/clients.ts'
import { reading } from '../../lib/chain/reading.ts'
import { Address, Hash32, type JobId } from '../../lib/codecs.ts'

/** A job's result in ResultRegistry. The time is Unix seconds. */
export type RecordedResult = {
  readonly outputCidHash: Hash32
  readonly receiptHash: Hash32
  readonly leader: Address
  readonly verifiers: readonly Address[]
  readonly matches: number
  readonly noMatches: number
  readonly committedAt: number
}

/** Reads the result of a job from the chain, undefined when there is none. Throws chain errors. */
export async function readRecordedResult(
  place: { readonly rpcUrl: string; readonly chainId: number; readonly resultRegistry: Address },
  jobId: JobId,
  signal?: AbortSignal,
): Promise<RecordedResult | undefined> {
  const read = createChainReader(place).publicClient.readContract({
    address: place.resultRegistry,
    abi: resultRegistryAbi,
    functionName: 'resultOf',
    args: [jobId],
  })
  const [result, committedAt] = await reading('reading ResultRegistry', read, signal)
  if (committedAt === 0n) return undefined
  return {
    outputCidHash: Hash32.parse(result.outputCidHash),
    receiptHash: Hash32.parse(result.receiptHash),
    leader: Address.parse(result.leader),
    verifiers: result.verifiers.map((verifier) => Address.parse(verifier)),
    matches: result.matchCount,
    noMatches: result.noMatchCount,
    committedAt: Number(committedAt),
  }
}
