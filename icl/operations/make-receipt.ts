import { jobListHash, receiptHash } from '../../lib/receipt.ts'
import type { Receipt, Tally } from '../../lib/schemas/receipt.ts'
import { statementBytes } from '../../lib/statements.ts'
import { countVotes } from '../../lib/tally.ts'
import { toSeconds } from '../../lib/time.ts'
import { type Dependencies, publicOrigin } from '../dependencies.ts'
import { currentAssignments, type Job } from '../rules/job.ts'
import { viewList } from './view-list.ts'

/** The job with its receipt when it has just been accepted, else the job itself. */
export async function withReceipt(deps: Dependencies, job: Job): Promise<Job> {
  if (job.phase !== 'accepted' || job.receipt || !job.result) return job
  const receipt = await makeReceipt(deps, job, job.result)
  return { ...job, receipt, receiptHash: await receiptHash(receipt) }
}

async function makeReceipt(
  deps: Dependencies,
  job: Job,
  result: NonNullable<Job['result']>,
): Promise<Receipt> {
  const verdicts = currentAssignments(job).flatMap(({ verdict }) => (verdict ? [verdict] : []))
  const count = countVotes(verdicts.map(({ body }) => body))
  const list = viewList(job)
  const tally: Tally = {
    statement: 'svc-tally-v2',
    jobId: job.id,
    list: await jobListHash(list),
    leader_statement: result.hash,
    verifier_statements: verdicts.map(({ hash }) => hash),
    matches: count.matches,
    no_matches: count.noMatches,
    inconclusive: count.inconclusive,
    settled_at: toSeconds(job.settledAt ?? deps.clock.now()),
  }
  return {
    version: 2,
    icl_origin: publicOrigin(deps),
    chain_id: deps.network.chain_id,
    jobId: job.id,
    client: job.client,
    client_nonce: job.clientNonce,
    kpHighHandle: job.kpHighHandle,
    kpLowHandle: job.kpLowHandle,
    model_id: job.modelId,
    max_output_tokens: result.body.max_output_tokens,
    prompt_cid: job.promptCid,
    output_cid: result.body.output_cid,
    comparator: job.comparator,
    list,
    leader: { body: result.body, signature: result.signature, session: result.session },
    verifiers: verdicts.map(({ body, signature, session }) => ({ body, signature, session })),
    tally: {
      body: tally,
      key: deps.keys.tally.publicKey,
      signature: await deps.keys.tally.sign(statementBytes(tally)),
    },
  }
}
