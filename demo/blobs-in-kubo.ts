import { createApi } from '../lib/api.ts'
import type { Inference } from '../lib/client/inference.ts'
import { SvcError } from '../lib/svc-error.ts'
import { systemClock, systemRandom } from '../lib/system.ts'
import { hasBlock, type KuboProcess } from './kubo-process.ts'

/** The blobs of a job. Kubo has all of them. */
export type BlobsInKubo = {
  readonly prompt_cid: string
  /** Left out if the job has no result. */
  readonly output_cid?: string
}

/** Looks for each blob of a job in Kubo. Throws SvcError `blob-missing`. */
export async function findBlobsInKubo(
  iclUrl: string,
  kubo: KuboProcess,
  { jobId, readToken }: Inference,
): Promise<BlobsInKubo> {
  const api = createApi({
    baseUrl: iclUrl,
    fetch: (request) => fetch(request),
    clock: systemClock,
    random: systemRandom,
  })
  const { prompt_cid, output_cid } = await api.getJob({ params: { jobId } }, { readToken })
  for (const cid of [prompt_cid, output_cid]) {
    if (cid === undefined || (await hasBlock(kubo, cid))) continue
    throw new SvcError('blob-missing', `Kubo does not have ${cid}, which the job names`, {
      hint: 'See the logs of the coordinator and of Kubo with --keep.',
    })
  }
  return { prompt_cid, ...(output_cid !== undefined && { output_cid }) }
}
