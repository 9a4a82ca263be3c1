import type { Acknowledged } from '../../lib/schemas/assignments.ts'
import type { AckStatement } from '../../lib/schemas/statements.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { signStatement } from '../records/icl-keys.ts'
import type { Assignment, Job } from '../rules/job.ts'

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
