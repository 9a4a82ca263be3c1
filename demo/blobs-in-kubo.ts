import type { Inference } from '../lib/client/inference.ts'
import type { JobView } from '../lib/schemas/jobs.ts'
import { SvcError } from '../lib/svc-error.ts'
import { type AskedWorld, clientOf } from './ask.ts'
import { hasBlock, type KuboProcess } from './kubo-process.ts'

/** The blobs of a job, which Kubo has. Without an output if the job has no result. */
export type BlobsInKubo = Pick<JobView, 'prompt_cid' | 'output_cid'>

/** Looks for each blob of a job in Kubo. Throws SvcError `blob-missing`. */
export async function findBlobsInKubo(
  world: AskedWorld,
  kubo: KuboProcess,
  { jobId }: Inference,
): Promise<BlobsInKubo> {
  const { prompt_cid, output_cid } = await (await clientOf(world)).job(jobId)
  for (const cid of [prompt_cid, output_cid]) {
    if (cid === undefined || (await hasBlock(kubo, cid))) continue
    throw new SvcError('blob-missing', `Kubo does not have ${cid}, which the job names`, {
      hint: 'See the logs of the coordinator and of Kubo with --keep.',
    })
  }
  return { prompt_cid, output_cid }
}
