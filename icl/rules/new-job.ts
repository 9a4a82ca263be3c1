import { firstPositions } from '../../lib/list.ts'
import type { Effect } from './effects.ts'
import { type Job, type JobList, type Passed, recorded } from './job.ts'
import { seatMember } from './tick.ts'

/** What a submission says, checked and complete. */
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
  /** Who was passed over when the client committed to the list. */
  readonly passed: readonly Passed[]
}

/** A new job with the first members of its list seated, the leader first; nothing is offered before the chain shows access. */
export function newJob(submission: Submission): Job {
  const { list, passed, createdAt: now } = submission
  const { quorum, model_id: modelId, min_tier: minTier, comparator } = list.terms
  const empty: Job = {
    ...submission,
    modelId,
    minTier,
    comparator,
    minMatches: list.terms.min_matches,
    verifierCount: quorum - 1,
    phase: 'open',
    round: 0,
    seats: quorum,
    nextFence: 1,
    assignments: [],
    events: [],
    outbox: [],
    nextEffect: 1,
  }
  let job = recorded(empty, now, 'submitted')
  const effects: Effect[] = []
  const positions = firstPositions(list.members.length, passed, quorum)
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
