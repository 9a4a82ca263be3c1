import type { Job } from './job.ts'
import { latestDeadlineOf } from './outages.ts'

/** The CIDs of a job's own blobs: its prompt, and the outputs that were delivered. */
export const ownBlobsOf = ({ promptCid, agreement }: Job): readonly string[] => [
  promptCid,
  ...(agreement?.turns ?? []).flatMap(({ delivery }) => delivery?.body.output_cid ?? []),
]

/**
 * How long a job keeps its blobs, in milliseconds. A job that no node has claimed keeps them while it may run, and they are in use for none:
 * anybody can submit one and cancel it. From the first claim on they are kept for the retention time after its deadline.
 */
export function keepOf(job: Job, retentionMs: number) {
  const { createdAt, deadline, phase } = job
  const isClaimed = job.assignments.some(
    ({ status }) => status === 'claimed' || status === 'committed' || status === 'revealed',
  )
  return isClaimed
    ? { until: deadline + retentionMs, usedUntil: deadline, isAnswered: phase === 'accepted' }
    : { until: latestDeadlineOf(job), usedUntil: createdAt, isAnswered: false }
}
