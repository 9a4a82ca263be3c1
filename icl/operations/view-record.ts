import type { JobRecord } from '../../lib/schemas/record.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import {
  type Assignment,
  type Job,
  resultOfRound,
  type SignedResult,
  type SignedVerdict,
} from '../rules/job.ts'
import { shownJob } from '../rules/shown-job.ts'
import { viewFault } from './view-fault.ts'
import { viewAssignment, viewJob } from './view-job.ts'
import { tallyOfRound } from './view-tally.ts'

/** Everything that happened in a job, for its client: what each node said, signed, and what was made of it, once the job has settled. */
export async function viewRecord(deps: Dependencies, found: Job): Promise<JobRecord> {
  const job = shownJob(found)
  const rounds = Array.from({ length: job.round + 1 }, (_, round) => viewRound(job, round))
  return {
    job: viewJob(job),
    ...(job.settledAt !== undefined && { settled_at: toSeconds(job.settledAt) }),
    rounds,
    assignments: job.assignments.map(recordOfAssignment),
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

const signed = <B>({
  body,
  signature,
  session,
}: {
  readonly body: B
  readonly signature: string
  readonly session: SignedResult['session']
}) => ({ body, signature, session })

function viewRound(job: Job, round: number): JobRecord['rounds'][number] {
  const result = resultOfRound(job, round)
  const tally = tallyOfRound(job, round)
  const endedAt =
    round === job.round ? job.settledAt : job.rounds?.find((past) => past.round === round)?.endedAt
  return {
    round,
    outcome: outcomeOf(job, round),
    ...(endedAt !== undefined && { ended_at: toSeconds(endedAt) }),
    ...(result && { leader: result.body.address, result_hash: result.hash }),
    ...(result && { result: signed(result) }),
    ...(tally && { tally }),
  }
}

function outcomeOf({ phase, round: current }: Job, round: number) {
  if (round < current) return 'rejected'
  if (phase === 'accepted' || phase === 'disputed') return phase
  return phase === 'open' || phase === 'running' ? 'open' : 'unfinished'
}

function recordOfAssignment(assignment: Assignment): JobRecord['assignments'][number] {
  const { attempt, deadline, endedAt, commitment, scores } = assignment
  const verdict: SignedVerdict | undefined = assignment.verdict
  return {
    ...viewAssignment(assignment),
    attempt,
    ...(deadline !== undefined && { deadline: toSeconds(deadline) }),
    ...(endedAt !== undefined && { ended_at: toSeconds(endedAt) }),
    ...(commitment !== undefined && { commitment }),
    ...(verdict && { verdict_hash: verdict.hash }),
    ...(verdict && { verdict_statement: signed(verdict) }),
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
