import type { JobId } from '../codecs.ts'
import { utf8 } from '../digest.ts'
import type { Random } from '../random.ts'
import { seal, textOf, unseal } from '../sealing.ts'
import { shownKeyOf } from './job-secret.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** Whose answer it is, and the job's secret. */
type ShownOf = { readonly jobId: JobId; readonly fence: number; readonly secret: Bytes }

const labelOf = ({ jobId, fence }: ShownOf): string => `svc-shown-v1:${jobId}:${fence}`

/** Seals an answer for the other nodes of its job, under a key of the job's secret. */
export const sealShown = async (text: string, of: ShownOf, random: Random): Promise<Bytes> =>
  seal(utf8(text), await shownKeyOf(of.secret, of.jobId, of.fence), labelOf(of), random)

/** Opens a shown answer; throws SvcError `blob-unreadable`. */
export const openShown = async (blob: Uint8Array, of: ShownOf): Promise<string> =>
  textOf(await unseal(blob, await shownKeyOf(of.secret, of.jobId, of.fence), labelOf(of)))
