import type { Address, ComparatorId, Hash32, JobId } from '../../lib/codecs.ts'
import type { Parameters } from '../../lib/schemas/jobs.ts'
import type { Draw } from './draw.ts'
import type { Effect } from './effects.ts'
import { type Job, recorded } from './job.ts'
import { seatNode } from './wake.ts'

/** What a submission says, checked and complete; times in milliseconds. */
export type Submission = {
  readonly id: JobId
  readonly client: Address
  readonly clientNonce: bigint
  readonly modelId: string
  readonly minTier: number
  readonly promptCid: string
  readonly kpHighHandle: bigint
  readonly kpLowHandle: bigint
  readonly parameters: Parameters
  readonly comparator: ComparatorId
  readonly minMatches: number
  readonly submissionHash: Hash32
  readonly createdAt: number
  readonly deadline: number
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
    slots: [],
    draws: [draw],
    events: [],
    outbox: [],
    nextEffect: 1,
    wakeAt: submission.deadline,
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
