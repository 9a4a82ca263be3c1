import { z } from 'zod'
import { Address, Hash32, UnixSeconds } from '../codecs.ts'
import { FaultView, SignedLeader, SignedVerifier } from './fault.ts'
import { AssignmentView, JobEvent, JobView, TallyView } from './jobs.ts'

/** How a round ended, or that it has not. */
const RoundOutcome = z.enum(['open', 'accepted', 'rejected', 'disputed', 'unfinished'])

/** One round of a job: its leader's signed statement, once the job has settled, and how the verdicts counted. */
const RoundRecord = z
  .object({
    round: z.int(),
    outcome: RoundOutcome,
    ended_at: UnixSeconds.optional(),
    leader: Address.optional(),
    /** SHA-256 of the leader's statement. */
    result_hash: Hash32.optional(),
    result: SignedLeader.optional(),
    tally: TallyView.optional(),
  })
  .meta({ id: 'RoundRecord' })

/** One attempt of one node at one seat, with all that it said, once the job has settled, and what it was scored for. */
const AssignmentRecord = AssignmentView.extend({
  attempt: z.int(),
  deadline: UnixSeconds.optional(),
  ended_at: UnixSeconds.optional(),
  commitment: Hash32.optional(),
  /** SHA-256 of the verdict's statement. */
  verdict_hash: Hash32.optional(),
  verdict_statement: SignedVerifier.optional(),
  /** Codes of the reputation events that it brought its node. */
  scores: z.array(z.string()),
}).meta({ id: 'AssignmentRecord' })

/** What the ICL still has to do for the job outside, and why it has not. */
const PendingWork = z
  .object({
    type: z.string(),
    node: Address.optional(),
    due_at: UnixSeconds,
    attempts: z.int(),
    error: z.string().optional(),
  })
  .meta({ id: 'PendingWork' })

/** Everything that happened in a job, for its client. */
export const JobRecord = z
  .object({
    job: JobView,
    settled_at: UnixSeconds.optional(),
    rounds: z.array(RoundRecord),
    assignments: z.array(AssignmentRecord),
    /** The latest 200. */
    events: z.array(JobEvent),
    faults: z.array(FaultView),
    commit: z.object({
      state: z.enum(['not-needed', 'pending', 'done']),
      tx: Hash32.optional(),
      /** Sent last, deep enough or not. */
      sent_tx: Hash32.optional(),
      error: z.string().optional(),
    }),
    pending: z.array(PendingWork),
  })
  .meta({ id: 'JobRecord' })
export type JobRecord = z.output<typeof JobRecord>
