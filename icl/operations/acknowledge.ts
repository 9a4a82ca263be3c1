import type { Hash32 } from '../../lib/codecs.ts'
import type { Acknowledged } from '../../lib/schemas/assignments.ts'
import type { Ack, AckStatement } from '../../lib/schemas/statements.ts'
import { statementBytes } from '../../lib/statements.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Assignment, Job } from '../rules/job.ts'

type Step = AckStatement['step']

/**
 * Returns the state of a node's assignment and job, with the ICL's signature under what it has taken and when. The ICL cannot claim later
 * that the node missed the step. It is made from the job, so a repeated step gets the same acknowledgement.
 */
export async function acknowledged(
  deps: Dependencies,
  job: Job,
  assignment: Assignment,
  step: Step,
): Promise<Acknowledged> {
  const { node, fence, status } = assignment
  const { hash, at } = takenIn(job, assignment, step)
  const body: AckStatement = {
    statement: 'svc-ack-v2',
    jobId: job.id,
    address: node,
    fence,
    step,
    body_hash: hash,
    at: toSeconds(at),
  }
  return { jobId: job.id, status, phase: job.phase, ack: await signedAck(deps, body) }
}

const signedAck = async ({ keys }: Dependencies, body: AckStatement): Promise<Ack> => ({
  body,
  key: keys.tally.publicKey,
  signature: await keys.tally.sign(statementBytes(body)),
})

/** Returns the hash of what was taken in the step, and when (milliseconds). Throws TypeError when nothing was. */
function takenIn(
  job: Job,
  { fence, commitment, committedAt, answer, revealedAt }: Assignment,
  step: Step,
): { readonly hash: Hash32; readonly at: number } {
  const turn = job.agreement?.turns.find((own) => own.fence === fence)
  const [hash, at] = {
    commit: [commitment, committedAt] as const,
    reveal: [answer?.hash, revealedAt] as const,
    result: [turn?.delivery?.hash, turn?.deliveredAt] as const,
  }[step]
  if (hash === undefined || at === undefined) throw new TypeError(`No ${step} was taken`)
  return { hash, at }
}
