import { cidOf } from '../cid.ts'
import { SvcError } from '../svc-error.ts'
import type { ClientContext } from './context.ts'
import type { JobList } from './own-list.ts'
import { patient } from './patient.ts'

/** Uploads the encrypted prompt and returns its CID. Throws SvcError `blob-cid-wrong` when the ICL names another CID. */
export async function uploadBlob(
  { api }: ClientContext,
  blob: Uint8Array<ArrayBuffer>,
  { signed: { body } }: Pick<JobList, 'signed'>,
  signal?: AbortSignal,
): Promise<string> {
  const expected = await cidOf(blob)
  const { kpHighHandle, kpLowHandle, block } = body
  const query = { kpHighHandle, kpLowHandle, block_number: block.number }
  const { cid } = await api.putBlob({ query, body: blob }, { ...patient, signal })
  if (cid === expected) return cid
  throw new SvcError('blob-cid-wrong', `The ICL stored ${cid} instead of ${expected}`, {
    hint: 'Do not use this ICL: it changed the blob or its name.',
  })
}
