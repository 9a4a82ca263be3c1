import type { Api } from '../../lib/api.ts'
import type { Address, JobId } from '../../lib/codecs.ts'
import { jobIdOf } from '../../lib/job-id.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import type { SubmitJob } from '../../lib/schemas/jobs.ts'
import { type ListedKey, listKey } from '../listed-key.ts'
import type { FakeChain } from './fake-chain.ts'

/** A submission whose key is stored and whose list is drawn. */
export type ListedJob = {
  readonly jobId: JobId
  readonly listed: ListedKey
  readonly body: SubmitJob
  /** Commits to the list on chain, which lets its first members read. */
  commit(): void
}

/** Prepares a job on a chain in memory, as a client does it, up to its submission. */
export async function listedJob(
  chain: FakeChain,
  api: Pick<Api, 'previewQuorum' | 'drawList'>,
  options: Omit<Parameters<typeof listKey>[1], 'storeKey'> & {
    readonly chainId: number
    readonly client: Address
    readonly handles: readonly [bigint, bigint]
    /** Unix seconds. */
    readonly now: number
    readonly promptCid?: string
  },
): Promise<ListedJob> {
  const { chainId, client, now } = options
  const [high, low] = options.handles
  const promptCid = options.promptCid ?? `bafkrei${'a'.repeat(52)}`
  const listed = await listKey(api, {
    ...options,
    storeKey: async (terms) => ({
      highHandle: high,
      lowHandle: low,
      blockNumber: chain.storeKey(high, low, client, terms, now),
    }),
  })
  const { list, coordinator } = listed.list.body
  const until = now + 1_200
  const jobId = jobIdOf({
    ...{ chainId, client, promptCid, kpHighHandle: high, kpLowHandle: low, clientNonce: high },
  })
  return {
    jobId,
    listed,
    body: {
      model_id: listed.terms.model_id,
      prompt_cid: promptCid,
      kpHighHandle: high,
      kpLowHandle: low,
      client_nonce: high,
      list: listed.list,
      until,
    },
    commit: () =>
      chain.commitList(
        high,
        low,
        listCommitment({ jobId, activator: coordinator, until, list }),
        listed.first,
      ),
  }
}
