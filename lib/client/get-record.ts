import type { Api } from '../api.ts'
import type { Hash32, JobId } from '../codecs.ts'
import { faultEvidenceHash, faultIdOf, verifyFault } from '../fault.ts'
import type { FaultEvidence, FaultView } from '../schemas/fault.ts'
import type { Network } from '../schemas/network.ts'
import type { JobRecord } from '../schemas/record.ts'
import { verifySession } from '../session-grant.ts'
import { verifySignature } from '../session-key.ts'
import { statementBytes, statementHash } from '../statements.ts'
import { SvcError } from '../svc-error.ts'

/**
 * The record of a job, whose statements are signed by the nodes that it names and whose proofs prove the faults that they stand
 * beside: the ICL may leave things out, as it does with all statements until the job has settled, but can make up nothing that a
 * node said. Throws SvcError `record-invalid` or `fault-invalid`.
 */
export async function getRecord(
  context: Context & { readonly api: Pick<Api, 'getRecord'> },
  jobId: JobId,
  signal?: AbortSignal,
): Promise<JobRecord> {
  const { api } = context
  const record = await api.getRecord(
    { params: { jobId } },
    { attempts: 3, ...(signal && { signal }) },
  )
  check(record.job.jobId === jobId, 'it is of another job')
  for (const round of record.rounds) await checkRound(context, record, round)
  for (const assignment of record.assignments) await checkAssignment(context, jobId, assignment)
  for (const fault of record.faults) await checkFault(context, jobId, fault)
  return record
}

type Context = { readonly network: Network }

async function checkRound(
  context: Context,
  { job: { jobId }, assignments }: JobRecord,
  { round, result, result_hash: hash }: JobRecord['rounds'][number],
): Promise<void> {
  if (!result) return
  const { address, fence } = result.body
  const isSeated = assignments.some(
    (assignment) =>
      assignment.role === 'leader' &&
      assignment.round === round &&
      assignment.node === address &&
      assignment.fence === fence,
  )
  check(isSeated, `${address} did not lead round ${round}`)
  await checkStatement(context, jobId, result, hash)
}

async function checkAssignment(
  context: Context,
  jobId: JobId,
  { node, fence, verdict_statement: verdict, verdict_hash: hash }: JobRecord['assignments'][number],
): Promise<void> {
  if (!verdict) return
  const { body } = verdict
  check(body.address === node, `the verdict of ${node} is somebody else's`)
  check(body.fence === fence, `the verdict of ${node} is for another attempt`)
  await checkStatement(context, jobId, verdict, hash)
}

/** A proof must be of the very fault that it stands beside, and hold at this ICL and on its chain. */
async function checkFault({ network }: Context, jobId: JobId, fault: FaultView): Promise<void> {
  const { evidence, address } = fault
  check(fault.jobId === jobId, `the fault of ${address} is of another job`)
  check(fault.fault_id === faultIdOf(fault), `the fault of ${address} has another's id`)
  if (!evidence) return
  await verifyFault(evidence)
  check(
    faultIdOf(evidence) === fault.fault_id &&
      evidence.icl_origin === new URL(network.public_url).origin &&
      evidence.chain_id === network.chain_id,
    `the fault of ${address} has another's proof`,
  )
  check(
    fault.evidence_hash === (await faultEvidenceHash(evidence)),
    `the proof of the fault of ${address} has another hash`,
  )
}

const check = (holds: boolean, why: string): void => {
  if (holds) return
  throw new SvcError('record-invalid', `The record of the job does not hold: ${why}`, {
    hint: 'Do not rely on it; ask the operator of the ICL.',
  })
}

async function checkStatement(
  { network }: Context,
  jobId: JobId,
  { body, signature, session }: FaultEvidence['statements'][number],
  hash: Hash32 | undefined,
): Promise<void> {
  const { address } = body
  check(body.jobId === jobId, `${address} spoke of another job`)
  check(
    hash === undefined || hash === (await statementHash(body)),
    `the statement of ${address} has another hash`,
  )
  const grant = {
    address,
    key: session.key,
    iclOrigin: new URL(network.public_url).origin,
    chainId: network.chain_id,
    notAfter: session.not_after,
  }
  check(
    await verifySession(grant, session.signature),
    `the wallet of ${address} did not grant the session key`,
  )
  check(
    await verifySignature(session.key, signature, statementBytes(body)),
    `${address} did not sign its statement`,
  )
}
