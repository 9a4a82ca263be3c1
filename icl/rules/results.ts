import { isRefuted } from '../../lib/fault.ts'
import { vacated } from './assignments.ts'
import { withFault } from './faults.ts'
import {
  type Assignment,
  currentAssignments,
  type Job,
  type JobLimits,
  recorded,
  resultOfRound,
  type SignedResult,
  type SignedVerdict,
  type Transition,
  withAssignment,
} from './job.ts'
import { tally } from './settle.ts'

/** The leader's result: verifiers that have committed may see it now, and their time to reveal starts. */
export function postResult(
  job: Job,
  assignment: Assignment,
  result: SignedResult,
  now: number,
  limits: JobLimits,
): Transition {
  if (assignment.role !== 'leader')
    return { refused: 'wrong-role', detail: 'Only a leader posts results' }
  if (assignment.status === 'done') {
    const posted = resultOfRound(job, assignment.round)
    if (!posted || posted.hash === result.hash) return { job, effects: [] }
    return contradicted(job, assignment, [posted, result], now)
  }
  if (assignment.status !== 'claimed') {
    return { refused: 'not-claimed', detail: `The assignment is ${assignment.status}` }
  }
  const posted = recorded(
    {
      ...withAssignment(job, assignment.fence, { status: 'done' }),
      result,
      firstResult: job.firstResult ?? { nextFence: job.nextFence, passed: job.passed },
    },
    now,
    'result-posted',
    { assignment },
  )
  // A verifier that joined after the leader claimed is not among the readers that the leader named.
  const effects = currentAssignments(posted).flatMap(({ role, node, fence }) =>
    role === 'verifier' ? [{ type: 'ensure-access' as const, node, fence }] : [],
  )
  const assignments = posted.assignments.map((other) =>
    other.status === 'committed' ? { ...other, deadline: now + limits.revealMs } : other,
  )
  return { job: { ...posted, assignments }, effects }
}

/** A verifier's verdict: it must open the commitment, speak of this very result, and follow from its evidence. */
export function postVerdict(
  job: Job,
  assignment: Assignment,
  verdict: SignedVerdict,
  commitment: string,
  now: number,
  limits: JobLimits,
): Transition {
  if (assignment.role !== 'verifier')
    return { refused: 'wrong-role', detail: 'Only a verifier votes' }
  if (assignment.status === 'done') {
    if (!assignment.verdict || assignment.verdict.hash === verdict.hash) return { job, effects: [] }
    return contradicted(job, assignment, [assignment.verdict, verdict], now)
  }
  if (assignment.status !== 'committed') {
    return { refused: 'not-committed', detail: `The assignment is ${assignment.status}` }
  }
  if (!job.result) return { refused: 'no-result-yet', detail: 'There is nothing to compare with' }
  if (commitment !== assignment.commitment) {
    return { refused: 'commitment-mismatch', detail: 'Evidence and salt make another commitment' }
  }
  if (verdict.body.leader_statement !== job.result.hash) {
    return { refused: 'statement-mismatch', detail: 'Another leader statement was compared with' }
  }
  if (isRefuted(job.result.body, verdict.body)) {
    const ended = vacated(job, assignment, 'aborted', 'verdict-refuted', now)
    const proof = [job.result, verdict]
    return (
      withFault(ended, assignment, 'verdict-refuted', proof, now) ?? { job: ended, effects: [] }
    )
  }
  const done = withAssignment(job, assignment.fence, {
    status: 'done',
    verdict,
    deadline: undefined,
  })
  const detail = verdict.body.reason ?? verdict.body.verdict
  return tally(
    recorded(done, now, `verdict-${verdict.body.verdict}`, { assignment, detail }),
    now,
    limits,
  )
}

/** Another signed answer for the same fence: it changes nothing, and proves a fault of its node if one run signed both. */
const contradicted = (
  job: Job,
  assignment: Assignment,
  [first, second]: readonly [SignedResult | SignedVerdict, SignedResult | SignedVerdict],
  now: number,
): Transition => ({
  refused: 'already-answered',
  detail: `The ${assignment.role} gave another answer for this fence before`,
  noted:
    first.session.key === second.session.key
      ? withFault(job, assignment, 'equivocated', [first, second], now)
      : undefined,
})
