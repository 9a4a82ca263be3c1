import type { z } from 'zod'
import { comparators } from '../../lib/comparators/all.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Acknowledged, CommitRequest } from '../../lib/schemas/assignments.ts'
import type { AnswerPost, AnswerStatement } from '../../lib/schemas/statements.ts'
import { commitmentOf } from '../../lib/statements.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Node } from '../rules/eligibility.ts'
import { type Assignment, assignmentFor, type Job, maxOutputTokensOf } from '../rules/job.ts'
import { acknowledged } from './acknowledge.ts'
import { changeJob } from './change-job.ts'
import { checkSession, loadOwnJob, postedBy } from './own-statement.ts'

/** Takes a node's commitment to its answer. */
export async function takeCommitment(
  deps: Dependencies,
  { address: node }: Pick<Node, 'address'>,
  { jobId, fence, commitment }: z.output<typeof CommitRequest>,
): Promise<Acknowledged> {
  const job = await changeJob(deps, jobId, { type: 'commit', node, fence, commitment })
  return await acknowledged(deps, job, assignmentFor(job, node, fence), 'commit')
}

/** Takes a node's answer after checking its signature, its evidence and the terms that it names. */
export async function takeAnswer(
  deps: Dependencies,
  node: Node,
  post: AnswerPost,
): Promise<Acknowledged> {
  const { jobId, fence, evidence, salt } = post
  const { address } = node
  const job = await loadOwnJob(deps, jobId, address)
  const answer = await postedBy<AnswerStatement>(node, post)
  const known = job.assignments.find((own) => own.node === address && own.fence === fence)
  // A second statement after the answer is left to the rules.
  if (known && known.answer === undefined) {
    checkSession(job, answer.session)
    checkTerms(job, known, answer.body)
    checkEvidence(job, answer.body)
  }
  const commitment = await commitmentOf({ jobId, address, fence, evidence, salt })
  const command = { type: 'reveal', node: address, fence, answer, commitment } as const
  const changed = await changeJob(deps, jobId, command)
  return await acknowledged(deps, changed, assignmentFor(changed, address, fence), 'reveal')
}

/** Checks that an answer is about the job's own list, model and parameters. Otherwise the receipt would not hold. */
function checkTerms(job: Job, { position }: Assignment, body: AnswerStatement): void {
  const most = maxOutputTokensOf(job)
  if (body.model_id !== job.modelId || body.max_output_tokens !== most) {
    throw mismatch(`The job is for at most ${most} tokens of ${job.modelId}`)
  }
  if (body.position !== position || body.list !== job.list.commitment) {
    throw mismatch(`The node is at position ${position} of the list ${job.list.commitment}`)
  }
}

const mismatch = (why: string) => new ProblemError('statement-mismatch', why)

function checkEvidence(job: Job, { evidence }: AnswerStatement): void {
  const malformation =
    evidence.comparator === job.comparator
      ? comparators[job.comparator].malformation(evidence)
      : `the job's comparator is ${job.comparator}`
  if (malformation !== undefined) throw new ProblemError('evidence-invalid', malformation)
}
