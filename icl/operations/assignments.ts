import type { z } from 'zod'
import type { Address, JobId } from '../../lib/codecs.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { ProblemError } from '../../lib/problem.ts'
import type {
  AssignmentOffer,
  ClaimResult,
  LeaderResult,
  VerifierVerdict,
} from '../../lib/schemas/assignments.ts'
import type { Evidence } from '../../lib/schemas/evidence.ts'
import { defaultMaxOutputTokens } from '../../lib/schemas/jobs.ts'
import type { StatementSession } from '../../lib/schemas/statements.ts'
import { verifySignature } from '../../lib/session-key.ts'
import {
  commitmentOf,
  leaderStatementOf,
  statementBytes,
  statementHash,
  verifierStatementOf,
} from '../../lib/statements.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { jobKey, nodeKey } from '../notifier.ts'
import type { Node } from '../rules/eligibility.ts'
import {
  type Assignment,
  assignmentOf,
  currentAssignments,
  isHeld,
  isSettled,
  type Job,
} from '../rules/job.ts'
import { excuse } from '../rules/outages.ts'
import { changeJob, loadJob } from './change-job.ts'
import { keepBlobsUntil } from './keep-blobs.ts'
import { pollUntil } from './poll.ts'
import { notePoll } from './take-heartbeat.ts'

/** Work offered to a node; waits up to `waitMs` for some. Nothing is handed out by being sent. */
export async function listAssignments(
  deps: Dependencies,
  node: Address,
  waitMs: number,
  signal?: AbortSignal,
): Promise<AssignmentOffer[]> {
  await notePoll(deps, node)
  const assignments = await pollUntil(deps, [nodeKey(node)], waitMs, signal, async () => {
    const [jobs, outages] = await Promise.all([
      deps.store.listJobsOfNode(node),
      deps.outages.known(),
    ])
    const seen = jobs.flatMap((found) => {
      const job = excuse(found, outages)
      const assignment = assignmentOf(job, node)
      return assignment?.status === 'offered' ? [viewOffer(job, assignment)] : []
    })
    return { seen, enough: seen.length > 0 }
  })
  await notePoll(deps, node)
  return assignments
}

const viewOffer = (job: Job, assignment: Assignment): AssignmentOffer => ({
  jobId: job.id,
  role: assignment.role,
  model_id: job.modelId,
  prompt_cid: job.promptCid,
  client: job.client,
  deadline: toSeconds(assignment.deadline ?? job.deadline),
  fence: assignment.fence,
})

/** Gives a node its assignment and the key handles (spec 2.3); claiming again gives the same. */
export async function claimAssignment(
  deps: Dependencies,
  node: Address,
  { jobId, fence }: { jobId: JobId; fence: number },
): Promise<ClaimResult> {
  const job = await changeJob(deps, jobId, { type: 'claim', node, fence })
  const assignment = assignmentOf(job, node)
  if (!assignment) throw new ProblemError('not-assigned', 'The node has no assignment in this job')
  const verifiers = currentAssignments(job).filter(
    ({ role, status }) => role === 'verifier' && isHeld(status),
  )
  return {
    jobId: job.id,
    fence: assignment.fence,
    role: assignment.role,
    kpHighHandle: job.kpHighHandle,
    kpLowHandle: job.kpLowHandle,
    claimDeadline: toSeconds(assignment.deadline ?? job.deadline),
    server_time: toSeconds(deps.clock.now()),
    client: job.client,
    model_id: job.modelId,
    prompt_cid: job.promptCid,
    comparator: job.comparator,
    parameters: { max_output_tokens: maxOutputTokens(job) },
    list: [...job.list.members],
    position: assignment.position,
    activator: job.list.activator,
    until: job.list.until,
    output_readers: [job.client, ...verifiers.map((verifier) => verifier.node)],
    output_delegate: deps.chain.coordinator,
  }
}

/** Takes the leader's result once its signature, its evidence and the client's access to the output key hold. */
export async function takeResult(deps: Dependencies, node: Node, body: LeaderResult) {
  const job = await loadOwnJob(deps, body.jobId, node.address)
  const statement = leaderStatementOf(node.address, body)
  const session = await signerOf(node, body.signature, statementBytes(statement))
  if (!hasPosted(job, node.address, body.fence)) {
    checkTerms(job, session, body)
    checkEvidence(job, body.evidence)
  }
  const result = {
    body: statement,
    hash: await statementHash(statement),
    signature: body.signature,
    session,
  }
  const { jobId, fence } = body
  const { address } = node
  const changed = await changeJob(deps, jobId, async (current) => {
    // A repeated result is answered from the job: the chain need not be asked again.
    const isRepeat = hasPosted(current, address, fence)
    if (!isRepeat) await checkOutputKey(deps, current, address, body)
    return { type: 'post-result', node: address, fence, result }
  })
  await deps.blobs.keep(body.output_cid, keepBlobsUntil(deps, changed))
  return viewAssignmentState(changed, address)
}

/** Takes a verifier's verdict once its signature and evidence hold. */
export async function takeVerdict(deps: Dependencies, node: Node, body: VerifierVerdict) {
  const { jobId, fence, evidence, salt } = body
  if ((body.verdict === 'match') !== (body.reason === undefined)) {
    throw new ProblemError(
      'invalid-request',
      'A no-match needs a reason, and only a no-match has one',
    )
  }
  const job = await loadOwnJob(deps, jobId, node.address)
  const statement = verifierStatementOf(node.address, body)
  const session = await signerOf(node, body.signature, statementBytes(statement))
  if (!hasPosted(job, node.address, fence)) {
    checkTerms(job, session, body)
    checkEvidence(job, evidence)
  }
  const { address } = node
  const verdict = {
    body: statement,
    hash: await statementHash(statement),
    signature: body.signature,
    session,
  }
  const commitment = await commitmentOf({ jobId, address, fence, evidence, salt })
  return viewAssignmentState(
    await changeJob(deps, jobId, {
      type: 'post-verdict',
      node: address,
      fence,
      verdict,
      commitment,
    }),
    address,
  )
}

/** Where a node's assignment and the job stand. */
export function viewAssignmentState(job: Job, node: Address) {
  const assignment = assignmentOf(job, node)
  if (!assignment) throw new ProblemError('not-assigned', 'The node has no assignment in this job')
  return { jobId: job.id, status: assignment.status, phase: job.phase }
}

/** A node's own assignment; waits up to `waitMs` until it may compare, or until nothing is left to do. */
export async function viewOwnAssignment(
  deps: Dependencies,
  node: Address,
  jobId: JobId,
  waitMs: number,
  signal?: AbortSignal,
) {
  return pollUntil(deps, [jobKey(jobId)], waitMs, signal, async () => {
    const job = await loadJob(deps, jobId)
    const assignment = assignmentOf(job, node)
    if (!assignment)
      throw new ProblemError('not-assigned', 'The node has no assignment in this job')
    const result = assignment.round === job.round ? job.result : undefined
    const mayCompare = assignment.status === 'committed' || assignment.status === 'done'
    const seen = {
      jobId: job.id,
      status: assignment.status,
      phase: job.phase,
      role: assignment.role,
      fence: assignment.fence,
      ...(assignment.deadline !== undefined && { deadline: toSeconds(assignment.deadline) }),
      server_time: toSeconds(deps.clock.now()),
      ...(result &&
        mayCompare && { leader_statement: { ...result.body, signature: result.signature } }),
    }
    const waits = assignment.status === 'committed' && !result && !isSettled(job.phase)
    return { seen, enough: !waits }
  })
}

/** The job, for a node that has or had an assignment in it: what the later checks say of it is nobody else's business. */
async function loadOwnJob(deps: Dependencies, jobId: JobId, node: Address): Promise<Job> {
  const job = await loadJob(deps, jobId)
  if (assignmentOf(job, node)) return job
  throw new ProblemError('not-assigned', 'The node has no assignment in this job')
}

/** True when the node has posted its result or verdict for this fence: the rules decide on whatever else it signs for it. */
const hasPosted = (job: Job, node: Address, fence: number): boolean =>
  job.assignments.some(
    (assignment) =>
      assignment.node === node && assignment.fence === fence && assignment.status === 'done',
  )

/** The session that signed a statement: the current run's, or that of a former one, which a restarted node sends as it is in its journal. */
async function signerOf(
  { certificate, runs }: Node,
  signature: string,
  statement: Uint8Array<ArrayBuffer>,
): Promise<StatementSession> {
  for (const { session } of [certificate, ...runs.former.toReversed()]) {
    if (await verifySignature(session.key, signature, statement)) return session
  }
  throw new ProblemError(
    'statement-signature-invalid',
    'The session key did not sign this statement',
  )
}

/** A statement must be about the job's own model and parameters, by a key that outlives the job: else its receipt would not hold. */
function checkTerms(
  job: Job,
  session: StatementSession,
  body: LeaderResult | VerifierVerdict,
): void {
  if (body.model_id !== job.modelId || body.max_output_tokens !== maxOutputTokens(job)) {
    throw new ProblemError(
      'statement-mismatch',
      `The job is for at most ${maxOutputTokens(job)} tokens of ${job.modelId}`,
    )
  }
  if (session.not_after * 1000 < job.deadline) {
    throw new ProblemError('certificate-expired', 'The session ends before the job; attest again')
  }
}

const maxOutputTokens = ({ parameters }: Job): number =>
  parameters.max_output_tokens ?? defaultMaxOutputTokens

function checkEvidence(job: Job, evidence: z.output<typeof Evidence>): void {
  const malformation =
    evidence.comparator === job.comparator
      ? comparators[job.comparator].malformation(evidence)
      : `the job's comparator is ${job.comparator}`
  if (malformation !== undefined) throw new ProblemError('evidence-invalid', malformation)
}

/** The client must be able to read the output key, else it would pay for an answer that it cannot open. */
async function checkOutputKey(
  { chain }: Dependencies,
  job: Job,
  leader: Address,
  { outHighHandle, outLowHandle }: LeaderResult,
): Promise<void> {
  const [record, high, low] = await Promise.all([
    chain.keyRecordOf(outHighHandle, outLowHandle),
    chain.isAllowed(outHighHandle, job.client),
    chain.isAllowed(outLowHandle, job.client),
  ])
  if (record?.owner === leader && high && low) return
  throw new ProblemError(
    'output-key-unreadable',
    record?.owner === leader
      ? 'The client may not read the output key: store it with the output_readers of the claim'
      : 'PromptKeyStore does not show the leader as owner of the output key handles',
  )
}
