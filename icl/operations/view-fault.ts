import type { Hash32 } from '../../lib/codecs.ts'
import { faultEvidenceHash, faultIdOf } from '../../lib/fault.ts'
import type { FaultEvidence, FaultView } from '../../lib/schemas/fault.ts'
import { publicOrigin } from '../../lib/schemas/network.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Fault } from '../rules/fault.ts'
import { type Job, mayShowAnswers } from '../rules/job.ts'
import type { PostedStatement } from '../rules/posted.ts'

/** The proof of a fault, for readers who do not trust this ICL; undefined once it is dropped. */
export function faultEvidenceOf(
  deps: Pick<Dependencies, 'network'>,
  job: Job,
  { kind, node, fence, statements }: Fault,
): FaultEvidence | undefined {
  if (!statements) return undefined
  return {
    version: 2,
    kind,
    icl_origin: publicOrigin(deps.network),
    chain_id: deps.network.chain_id,
    jobId: job.id,
    fence,
    address: node,
    statements: statements.map(statementIn),
  }
}

function statementIn(posted: PostedStatement): FaultEvidence['statements'][number] {
  const { signature, session, body } = posted
  switch (body.statement) {
    case 'svc-answer-v3':
      return { body, signature, session }
    case 'svc-delivery-v2':
      return { body, signature, session }
    case 'svc-verdict-v2':
      return { body, signature, session }
  }
}

/** The id of a fault on chain. */
export const faultIdIn = (job: Job, { kind, node, fence }: Fault): Hash32 =>
  faultIdOf({ kind, jobId: job.id, fence, address: node })

/** A fault as everybody may see it. Its proof discloses evidence, so it is shown only once the job has settled. */
export async function viewFault(
  deps: Pick<Dependencies, 'network'>,
  job: Job,
  fault: Fault,
): Promise<FaultView> {
  const { kind, node, fence, at, slash } = fault
  const evidence = faultEvidenceOf(deps, job, fault)
  const evidenceHash = slash?.evidenceHash ?? (evidence && (await faultEvidenceHash(evidence)))
  const error = slashErrorOf(job, fault)
  return {
    fault_id: faultIdIn(job, fault),
    kind,
    jobId: job.id,
    fence,
    address: node,
    at: toSeconds(at),
    ...(evidenceHash && { evidence_hash: evidenceHash }),
    ...(evidence && mayShowAnswers(job) && { evidence }),
    ...(slash && {
      slash: {
        state: slash.state,
        amount_wei: slash.amountWei,
        executable_at: slash.executableAt,
        answer_hash: slash.answerHash,
        proposed_tx: slash.proposedTx,
        executed_tx: slash.executedTx,
        taken_wei: slash.takenWei,
      },
    }),
    ...(error !== undefined && { slash_error: error }),
  }
}

const slashErrorOf = ({ outbox }: Job, { kind, fence }: Fault): string | undefined =>
  outbox.find(
    ({ effect }) => effect.type === 'slash-node' && effect.kind === kind && effect.fence === fence,
  )?.error
