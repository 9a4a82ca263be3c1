/*
 * Problem: blobs take room that all callers share, and wallets and attestations cost nothing to make.
 *
 * Idea: room is tied to something that costs. A wallet uploads for a prompt key that it has stored on chain, and a node for
 * its turn to deliver, or to show its answer. A job keeps its blobs longer once a node works on it (icl/rules/kept-blobs.ts), and full rooms drop
 * what is not in use (icl/blobs/rooms.ts).
 *
 * Invariants:
 * - Each key has room for one blob, and each fence for one of either kind, whose bytes may be uploaded any number of times.
 * - Bytes without the form of a seal are refused, because blobs are public.
 * - The place is taken before the blob is stored, and lasts longer than a key is accepted or a job runs.
 *
 * Failure cases: while the chain is away a wallet gets `chain-unavailable`. Without room for a blob, the place is kept for the
 * next try.
 */
import { cidOf } from '../../lib/cid.ts'
import type { Address } from '../../lib/codecs.ts'
import type { Input } from '../../lib/endpoint.ts'
import type { endpoints } from '../../lib/endpoints.ts'
import { ProblemError } from '../../lib/problem.ts'
import { looksSealed } from '../../lib/sealing.ts'
import { hourMs } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { claimKey } from '../records/claim-key.ts'
import { keyOf } from '../records/keys.ts'
import { unavailable } from '../records/unavailable.ts'
import { isSettled } from '../rules/job.ts'
import { nextStep } from '../rules/next-step.ts'
import { checkAdmitted } from './admit-client.ts'
import { loadJob } from './change-job.ts'
import { findOwnKey, isDrawn } from './own-key.ts'
import { ownAssignment } from './own-statement.ts'

/** How long a blob that no job names is kept, and its place. */
const unusedBlobMs = hourMs
/** How old a key may be: its list is drawn for 30 minutes, and a job with the list is taken for ten more. Waiting for the draw does not count. */
const keySeconds = 2_400

type Upload = Input<(typeof endpoints)['putBlob']>

/** Stores the sealed prompt of a client's stored key for an hour, or for as long as the blobs of a job that names it. */
export async function putPrompt(
  deps: Dependencies,
  client: Address,
  { query, body }: Upload,
  signal: AbortSignal,
) {
  checkAdmitted(deps, client)
  const { kpHighHandle, kpLowHandle, block_number } = query
  if (kpHighHandle === undefined || kpLowHandle === undefined || block_number === undefined) {
    throw new ProblemError(
      'invalid-query',
      'A wallet names the stored key of its prompt: kpHighHandle, kpLowHandle, block_number',
    )
  }
  const key = { kpHighHandle, kpLowHandle, block_number }
  const most = (await isDrawn(deps, key)) ? Number.POSITIVE_INFINITY : keySeconds
  await findOwnKey(deps, client, key, most)
  const name = keyOf('upload', kpHighHandle, kpLowHandle)
  return await putInPlace(deps, name, body, { uploader: 'wallet', account: client, signal })
}

/** Stores the sealed output of the node whose turn it is to deliver or to show it, for as long as `putPrompt` stores a prompt. */
export async function putOutput(
  deps: Dependencies,
  node: Address,
  { query: { jobId, fence }, body }: Upload,
  signal: AbortSignal,
) {
  if (jobId === undefined || fence === undefined) {
    throw new ProblemError('invalid-query', 'A node names the seat of its output: jobId, fence')
  }
  const job = await loadJob(deps, jobId)
  const assignment = ownAssignment(job, node)
  if (isSettled(job.phase)) throw new ProblemError('job-settled', `The job is ${job.phase}`)
  if (assignment.fence !== fence) {
    throw new ProblemError('stale-fence', `The fence of the node is ${assignment.fence}`)
  }
  const { step } = nextStep(job, assignment)
  if (step !== 'deliver' && step !== 'show') {
    throw new ProblemError('not-your-turn', 'Only a node that delivers or shows its answer uploads')
  }
  const options = { uploader: 'node', account: node, signal } as const
  const place = keyOf('upload', jobId, fence, step === 'show' ? 'shown' : 'output')
  return await putInPlace(deps, place, body, options)
}

async function putInPlace(
  deps: Dependencies,
  name: string,
  body: Upload['body'],
  options: Pick<Parameters<Dependencies['blobs']['put']>[2], 'uploader' | 'account' | 'signal'>,
) {
  if (!looksSealed(body)) {
    throw new ProblemError(
      'blob-invalid',
      'The bytes are not a sealed blob of version 1. Blobs are public: seal the text first',
    )
  }
  const cid = await cidOf(body)
  const until = deps.clock.now() + unusedBlobMs
  const other = await claimKey(deps, name, cid, until)
  if (other !== cid) {
    const why = `This key or fence has the blob ${other}. Upload that again, or store another key`
    throw new ProblemError('too-many-blobs', why)
  }
  if (await deps.blobs.put(cid, body, { ...options, until })) return { cid }
  throw unavailable('There is no room for more blobs: those that are stored are in use', 30)
}
