import type { Address, JobId } from '../../lib/codecs.ts'
import { sha256Hex } from '../../lib/digest.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Acknowledged } from '../../lib/schemas/assignments.ts'
import type { AckStatement, StatementSession } from '../../lib/schemas/statements.ts'
import { verifySignature } from '../../lib/session-key.ts'
import { type NodeStatement, statementBytes } from '../../lib/statements.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { signStatement } from '../records/icl-keys.ts'
import type { Node } from '../rules/eligibility.ts'
import { type Assignment, assignmentOf, type Job } from '../rules/job.ts'
import { latestDeadlineOf } from '../rules/outages.ts'
import type { Posted } from '../rules/posted.ts'
import { loadJob } from './change-job.ts'

/** Returns a node's newest assignment in a job. Throws `not-assigned`. */
export function ownAssignment(job: Job, node: Address): Assignment {
  const assignment = assignmentOf(job, node)
  if (assignment) return assignment
  throw new ProblemError('not-assigned', 'The node has no assignment in this job')
}

/** Returns the job to a node that has an assignment in it. Throws `not-assigned` for others: the later checks disclose parts of the job. */
export async function loadOwnJob(deps: Dependencies, jobId: JobId, node: Address): Promise<Job> {
  const job = await loadJob(deps, jobId)
  ownAssignment(job, node)
  return job
}

/**
 * Checks a node's statement and returns it with its session. It has to be the node's own, signed with the session key of its current run or
 * of a former one: a restarted node posts statements from its journal as they are.
 */
export async function postedBy<Body extends NodeStatement>(
  { address, certificate, runs }: Node,
  { signature, ...rest }: Body & { readonly signature: string },
): Promise<Posted<Body>> {
  // The statement without its signature is the body.
  const body = rest as unknown as Body
  if (body.address !== address) {
    throw new ProblemError('statement-mismatch', `The statement is of ${body.address}`)
  }
  const bytes = statementBytes(body)
  for (const { session } of [certificate, ...runs.former.toReversed()]) {
    if (await verifySignature(session.key, signature, bytes)) {
      return { body, hash: await sha256Hex(bytes), signature, session }
    }
  }
  const why = 'The session key did not sign this statement'
  throw new ProblemError('statement-signature-invalid', why)
}

/** Checks that a session outlives the job, also one that outages make longer. Otherwise the job's receipt would not hold. */
export function checkSession(job: Job, session: StatementSession): void {
  if (session.not_after * 1000 >= latestDeadlineOf(job)) return
  throw new ProblemError('certificate-expired', 'The session ends before the job. Attest again')
}

/**
 * Returns the state of a node's assignment and job, with the ICL's signature under what it has taken and when. The ICL cannot claim later
 * that the node missed the step. It is made from the job, so a repeated step gets the same acknowledgement.
 */
export async function acknowledged(
  deps: Dependencies,
  job: Job,
  assignment: Assignment,
  step: AckStatement['step'],
): Promise<Acknowledged> {
  const { node, fence, status, commitment, committedAt, answer, revealedAt } = assignment
  const turn = job.agreement?.turns.find((own) => own.fence === fence)
  const [hash, at] = {
    commit: [commitment, committedAt] as const,
    reveal: [answer?.hash, revealedAt] as const,
    result: [turn?.delivery?.hash, turn?.deliveredAt] as const,
  }[step]
  if (hash === undefined || at === undefined) throw new TypeError(`No ${step} was taken`)
  const body: AckStatement = {
    statement: 'svc-ack-v2',
    jobId: job.id,
    address: node,
    fence,
    step,
    body_hash: hash,
    at: toSeconds(at),
  }
  return { jobId: job.id, status, phase: job.phase, ack: await signStatement(deps.keys, body) }
}
