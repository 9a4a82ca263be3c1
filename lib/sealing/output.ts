import type { JobId } from '../codecs.ts'
import { utf8 } from '../digest.ts'
import type { Random } from '../random.ts'
import { seal, sealBytes, textOf, unseal } from '../sealing.ts'
import { outputKeyOf } from './job-secret.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** How many bytes both seals add to an output. */
export const outputSealBytes: number = 2 * sealBytes

/** The keys of an output: its own, whose halves the coprocessor has, and the job's secret. `fence` is of the assignment that delivers. */
export type OutputOf = {
  readonly jobId: JobId
  readonly fence: number
  readonly key: Bytes
  readonly secret: Bytes
}

const outerLabel = ({ jobId }: OutputOf): string => `svc-sealed-output-v2:${jobId}`
const innerLabel = ({ jobId, fence }: OutputOf): string => `svc-output-v2:${jobId}:${fence}`

/** Seals an answer twice: under a key of the job's secret, and under the output's key. */
export async function sealOutput(text: string, of: OutputOf, random: Random): Promise<Bytes> {
  const innerKey = await outputKeyOf(of.secret, of.jobId, of.fence)
  const inner = await seal(utf8(text), innerKey, innerLabel(of), random)
  return seal(inner, of.key, outerLabel(of), random)
}

/** Opens both seals of an answer; throws SvcError `blob-unreadable`. */
export async function openOutput(blob: Uint8Array, of: OutputOf): Promise<string> {
  const inner = await unseal(blob, of.key, outerLabel(of))
  const innerKey = await outputKeyOf(of.secret, of.jobId, of.fence)
  return textOf(await unseal(inner, innerKey, innerLabel(of)))
}
