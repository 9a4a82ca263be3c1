import type { JobRecord } from '../../lib/schemas/record.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Assignment, Job, Turn } from '../rules/job.ts'
import { signedOf } from '../rules/posted.ts'
import { shownJob } from '../rules/shown-job.ts'
import { attestedIn } from './make-receipt.ts'
import { viewFault } from './view-fault.ts'
import { viewAssignment, viewJob } from './view-job.ts'

/**
 * Returns a job's history for its client. Signed statements and scores are in it once the job has settled, deliveries only in that of an
 * accepted job: its client reads an output that it pays for. The proof of a fault shows the deliveries that it is about.
 */
export async function viewRecord(deps: Dependencies, found: Job): Promise<JobRecord> {
  const job = shownJob(found)
  return {
    job: viewJob(job),
    ...(job.settledAt !== undefined && { settled_at: toSeconds(job.settledAt) }),
    assignments: job.assignments.map((assignment) => recordOfAssignment(job, assignment)),
    deliveries: (job.agreement?.turns ?? []).map((turn) => recordOfTurn(job, turn)),
    ...(job.phase === 'accepted' && attestedIn(job)),
    events: [...job.events],
    faults: await Promise.all((job.faults ?? []).map((fault) => viewFault(deps, job, fault))),
    commit: viewCommit(job),
    pending: job.outbox.map(({ effect, dueAt, attempts, error }) => ({
      type: effect.type,
      ...('node' in effect && { node: effect.node }),
      due_at: toSeconds(dueAt),
      attempts,
      ...(error !== undefined && { error }),
    })),
  }
}

function recordOfTurn(
  job: Job,
  { fence, failed, delivery, verdicts }: Turn,
): JobRecord['deliveries'][number] {
  const deliverer = job.assignments.find((assignment) => assignment.fence === fence)
  if (!deliverer) throw new TypeError(`The deliverer ${fence} has no assignment`)
  const endedAt = failed?.at ?? job.settledAt
  const isAccepted = job.phase === 'accepted'
  return {
    deliverer: deliverer.node,
    fence,
    outcome: outcomeOf(job, failed !== undefined),
    ...(failed && { reason: failed.reason }),
    ...(failed?.abort && { abort: signedOf(failed.abort) }),
    ...(endedAt !== undefined && { ended_at: toSeconds(endedAt) }),
    ...(isAccepted && delivery && { delivery: signedOf(delivery) }),
    // Each is about the delivery, and cannot be checked without it.
    verdicts: isAccepted ? verdicts.map(signedOf) : [],
  }
}

function outcomeOf({ phase }: Job, isFailed: boolean) {
  if (isFailed) return 'failed'
  return phase === 'accepted' ? 'settled' : 'unfinished'
}

function recordOfAssignment(job: Job, assignment: Assignment): JobRecord['assignments'][number] {
  const { attempt, deadline, endedAt, commitment, answer, scores } = assignment
  return {
    ...viewAssignment(job, assignment),
    attempt,
    ...(deadline !== undefined && { deadline: toSeconds(deadline) }),
    ...(endedAt !== undefined && { ended_at: toSeconds(endedAt) }),
    ...(commitment !== undefined && { commitment }),
    ...(answer && { answer: signedOf(answer) }),
    scores: [...(scores ?? [])],
  }
}

function viewCommit({ phase, commitTx, commitSentTx, commitError }: Job): JobRecord['commit'] {
  const settled = commitTx === undefined ? 'pending' : 'done'
  return {
    state: phase === 'accepted' ? settled : 'not-needed',
    ...(commitTx !== undefined && { tx: commitTx }),
    ...(commitSentTx !== undefined && { sent_tx: commitSentTx }),
    ...(commitError !== undefined && { error: commitError }),
  }
}
