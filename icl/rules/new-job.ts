import { firstPositions } from '../../lib/list.ts'
import type { Effect } from './effects.ts'
import { type Job, type JobList, type Passed, recorded } from './job.ts'
import { seatMember } from './tick.ts'

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
    batches: [quorum],
    nextFence: 1,
    assignments: [],
    events: [],
    outbox: [],
    nextEffect: 1,
  }
  let job = recorded(empty, now, 'submitted')
  const effects: Effect[] = []
  for (const [seat, position] of positions.entries()) {
    const seated = seatMember(job, seat, position, now)
    job = seated.job
    effects.push(...seated.effects)
  }
  const outbox = effects.map((effect, index) => ({
    id: index + 1,
    effect,
    attempts: 0,
    dueAt: now,
  }))
  const isFull = positions.length === quorum
  return {
    ...job,
    outbox,
    nextEffect: outbox.length + 1,
    ...(!isFull && { fillAt: now }),
    tickAt: isFull ? submission.deadline : now,
  }
}
