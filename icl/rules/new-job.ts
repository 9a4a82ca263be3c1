import { firstPositions } from '../../lib/list.ts'
import { afterwards, changeTo, type Job, type JobList, type Passed, recorded } from './job.ts'
import { seatMember } from './tick.ts'
import { ready } from './transition.ts'

/** A checked and complete submission. */
export type Submission = Pick<
  Job,
  | 'id'
  | 'client'
  | 'clientNonce'
  | 'promptCid'
  | 'kpHighHandle'
  | 'kpLowHandle'
  | 'parameters'
  | 'submissionHash'
  | 'createdAt'
  | 'deadline'
  | 'webhook'
> & {
  readonly list: JobList
  /** The members that could not be seated when the list was signed. */
  readonly passed: readonly Passed[]
}

/** A new job with the first members of its list seated. They get no offer before the chain shows that they may read the keys. */
export function newJob(submission: Submission): Job {
  const { list, createdAt: now } = submission
  const { quorum, model_id: modelId, min_tier: minTier, comparator } = list.terms
  const positions = firstPositions(list.members.length, submission.passed, quorum)
  const last = Math.max(-1, ...positions)
  const empty: Job = {
    ...submission,
    // Only a member before the last seated one was passed over.
    passed: submission.passed.filter(
      ({ position }) => position < last && !positions.includes(position),
    ),
    modelId,
    minTier,
    comparator,
    phase: 'open',
    seats: quorum,
    nextFence: 1,
    assignments: [],
    events: [],
    outbox: [],
    nextEffect: 1,
  }
  const seated = positions.reduce(
    (change, position, seat) => afterwards(change, (job) => seatMember(job, seat, position, now)),
    changeTo(recorded(empty, now, 'submitted')),
  )
  return ready(seated, now).job
}
