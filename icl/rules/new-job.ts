import type { Draw } from '../../lib/draw.ts'
import type { Effect } from './effects.ts'
import { type Job, recorded } from './job.ts'
import { seatNode } from './tick.ts'

/** What a submission says, checked and complete. */
export type Submission = Pick<
  Job,
  | 'id'
  | 'client'
  | 'clientNonce'
  | 'modelId'
  | 'minTier'
  | 'promptCid'
  | 'kpHighHandle'
  | 'kpLowHandle'
  | 'parameters'
  | 'comparator'
  | 'minMatches'
  | 'submissionHash'
  | 'createdAt'
  | 'deadline'
  | 'webhook'
> & {
  /** The previewed quorum: the leader first. */
  readonly draw: Draw
}

/** A new job with its quorum seated; nothing is offered before the chain shows access. */
export function newJob({ draw, ...submission }: Submission): Job {
  const now = submission.createdAt
  const empty: Job = {
    ...submission,
    verifierCount: draw.chosen.length - 1,
    phase: 'open',
    round: 0,
    seats: draw.chosen.length,
    nextFence: 1,
    assignments: [],
    draws: [draw],
    events: [],
    outbox: [],
    nextEffect: 1,
    tickAt: submission.deadline,
  }
  let job = recorded(empty, now, 'submitted')
  const effects: Effect[] = []
  for (const [seat, node] of draw.chosen.entries()) {
    const seated = seatNode(job, seat, node, now)
    job = seated.job
    effects.push(...seated.effects)
  }
  const outbox = effects.map((effect, index) => ({
    id: index + 1,
    effect,
    attempts: 0,
    dueAt: now,
  }))
  return { ...job, outbox, nextEffect: outbox.length + 1 }
}
