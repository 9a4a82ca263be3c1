import type { Api } from '../api.ts'
import type { Address, Hash32, JobId } from '../codecs.ts'
import { faultEvidenceHash, faultIdOf, verifyFault } from '../fault.ts'
import type { FaultEvidence, FaultView } from '../schemas/fault.ts'
import { type Network, publicOrigin } from '../schemas/network.ts'
import type { JobRecord } from '../schemas/record.ts'
import { type CheckSigned, statementChecker } from '../signed-statement.ts'
import { statementHash } from '../statements.ts'
import { type Check, checkerOf } from '../svc-error.ts'

/**
 * Fetches a job's record and checks it: the nodes that it names signed the statements, and the proofs prove the faults. So the ICL may
 * leave statements out, as it does with all of them until the job has settled, but cannot invent one. Throws SvcError `record-invalid` or
 * `fault-invalid`.
 */
export async function getRecord(
  context: Context & { readonly api: Pick<Api, 'getRecord'> },
  jobId: JobId,
  signal?: AbortSignal,
): Promise<JobRecord> {
  const { api, network } = context
  const record = await api.getRecord(
    { params: { jobId } },
    { attempts: 3, ...(signal && { signal }) },
  )
  check(record.job.jobId === jobId, 'it is of another job')
  const of = { jobId, icl_origin: publicOrigin(network), chain_id: network.chain_id }
  const checkSigned = statementChecker(of, check)
  for (const { node, fence, answer } of record.assignments) {
    if (!answer) continue
    checkSpeaker(answer, { node, fence })
    await checkSigned(answer)
  }
  for (const turn of record.deliveries) await checkTurn(record, turn, checkSigned)
  for (const numbers of record.attested ?? []) {
    const { address, fence } = numbers.body
    const isAnswered = record.assignments.some(
      (one) => one.node === address && one.fence === fence && one.answer !== undefined,
    )
    check(isAnswered, `${address} attests without an answer`)
    await checkSigned(numbers)
  }
  for (const fault of record.faults) await checkFault(context, jobId, fault)
  return record
}

type Context = { readonly network: Network }

/** Statements of a turn: the delivery is of the deliverer's own answer, and verdicts are on this delivery, by nodes with an answer. */
async function checkTurn(
  { assignments }: JobRecord,
  { deliverer, fence, delivery, verdicts }: JobRecord['deliveries'][number],
  checkSigned: CheckSigned,
): Promise<void> {
  const answerOf = async (node: Address, answered: number): Promise<Hash32 | undefined> => {
    const own = assignments.find((one) => one.node === node && one.fence === answered)?.answer
    return own && statementHash(own.body)
  }
  check(delivery !== undefined || verdicts.length === 0, `${deliverer} had delivered nothing`)
  if (!delivery) return
  checkSpeaker(delivery, { node: deliverer, fence })
  const delivered = await answerOf(deliverer, fence)
  check(delivery.body.answer === delivered, `${deliverer} delivered another answer`)
  await checkSigned(delivery)
  const hash = await statementHash(delivery.body)
  for (const verdict of verdicts) {
    const { address, fence: ofSpeaker, answer } = verdict.body
    const own = await answerOf(address, ofSpeaker)
    check(
      own !== undefined && answer === own,
      `the verdict of ${address} is on no answer of its own`,
    )
    check(verdict.body.delivery === hash, `${address} looked at another delivery`)
    await checkSigned(verdict)
  }
}

function checkSpeaker(
  { body }: FaultEvidence['statements'][number],
  { node, fence }: { readonly node: Address; readonly fence: number },
): void {
  check(body.address === node, `a statement of ${node} is another node's`)
  check(body.fence === fence, `a statement of ${node} is for another attempt`)
}

/** A proof must be of the fault that it is listed with, and for this ICL and its chain. */
async function checkFault({ network }: Context, jobId: JobId, fault: FaultView): Promise<void> {
  const { evidence, address } = fault
  check(fault.jobId === jobId, `the fault of ${address} is of another job`)
  check(fault.fault_id === faultIdOf(fault), `the fault of ${address} has another's id`)
  if (!evidence) return
  await verifyFault(evidence)
  check(
    faultIdOf(evidence) === fault.fault_id &&
      evidence.icl_origin === publicOrigin(network) &&
      evidence.chain_id === network.chain_id,
    `the fault of ${address} has another's proof`,
  )
  check(
    fault.evidence_hash === (await faultEvidenceHash(evidence)),
    `the proof of the fault of ${address} has another hash`,
  )
}

const check: Check = checkerOf(
  'record-invalid',
  'The record of the job does not hold',
  'Do not rely on it. Ask the operator of the ICL.',
)
