import type { Hash32, JobId } from '../codecs.ts'
import { type JobIdentity, jobIdOf } from '../job-id.ts'
import { type ListTerms, listCommitment } from '../list-commitment.ts'
import { receiptHash, verifyReceipt } from '../receipt.ts'
import { defaultMaxOutputTokens, type JobView } from '../schemas/jobs.ts'
import type { BlockId, JobListView } from '../schemas/list.ts'
import type { Receipt } from '../schemas/receipt.ts'
import type { Terms } from '../schemas/terms.ts'
import { SvcError } from '../svc-error.ts'
import { termsHash } from '../terms.ts'
import { type JobOrder, listTermsOf } from './commit-list.ts'
import type { ClientContext } from './context.ts'
import type { JobWish } from './submit-job.ts'

// Sessions end by time, so a receipt may not choose its own; clocks differ a little.
const clockToleranceSeconds = 600

/** The very job that a receipt must be about. */
export type ExpectedJob = {
  readonly jobId: JobId
  readonly identity: JobIdentity
  readonly maxOutputTokens: number
  /** The chain's time when the job was made, Unix seconds. */
  readonly preparedAt: number
  /** As this client stored their hash. */
  readonly terms: Terms
  /** That holds the prompt key. */
  readonly block: BlockId
  /** What this client has committed to. */
  readonly committed: ListTerms
}

/** What the receipt of a job has to say; `preparedAt` is the chain's time (Unix seconds) before the job was submitted. */
export const expectedJob = (
  order: JobOrder,
  job: { readonly wish: JobWish; readonly preparedAt: number },
): ExpectedJob => {
  const { identity, list } = order
  return {
    jobId: jobIdOf(identity),
    identity,
    preparedAt: job.preparedAt,
    maxOutputTokens: job.wish.parameters?.max_output_tokens ?? defaultMaxOutputTokens,
    terms: list.signed.body.terms,
    block: list.signed.body.block,
    committed: listTermsOf(order),
  }
}

/** Fetches a job's receipt and checks it wholly; throws SvcError `receipt-invalid` or `signer-unstaked`. */
export async function fetchCheckedReceipt(
  context: ClientContext,
  job: ExpectedJob,
  view: JobView,
  readToken: string,
  signal?: AbortSignal,
): Promise<{ readonly receipt: Receipt; readonly hash: Hash32 }> {
  const { api } = context
  const receipt = await api.getReceipt(
    { params: { jobId: job.jobId } },
    { readToken, signal, attempts: 5 },
  )
  const { keys } = await api.getJwks({}, { signal, attempts: 3 })
  const iclKeys = keys.filter(({ kty, crv }) => kty === 'OKP' && crv === 'Ed25519')
  await verifyReceipt(receipt, { iclKeys: iclKeys.map(({ x }) => x) })
  checkIdentity(receipt, job)
  await checkList(context, receipt.list, job, signal)
  const hash = await receiptHash(receipt)
  check(hash === view.receipt_hash, 'its hash is not the one that the ICL named')
  check(receipt.output_cid === view.output_cid, 'it is about another output')
  const now = await context.chain.time(signal)
  const settledAt = receipt.tally.body.settled_at
  check(
    settledAt >= job.preparedAt - clockToleranceSeconds && settledAt <= now + clockToleranceSeconds,
    'it claims to have settled at another time',
  )
  await checkNodes(context, receipt, job.terms.min_tier, signal)
  return { receipt, hash }
}

function checkIdentity(receipt: Receipt, job: ExpectedJob): void {
  const { identity } = job
  check(receipt.jobId === job.jobId, 'it is about another job')
  check(receipt.chain_id === identity.chainId, 'it is about another chain')
  check(receipt.client === identity.client, 'it is about another client')
  check(receipt.client_nonce === identity.clientNonce, 'it has another nonce')
  check(
    receipt.kpHighHandle === identity.kpHighHandle && receipt.kpLowHandle === identity.kpLowHandle,
    'it is about another prompt key',
  )
  check(receipt.prompt_cid === identity.promptCid, 'it is about another prompt')
  check(
    receipt.max_output_tokens === job.maxOutputTokens,
    'its nodes were told another length of answer',
  )
}

/** Its list must be the one that this client has drawn and committed to, and that the chain holds; its terms say model, comparator and ICL. */
async function checkList(
  { chain }: ClientContext,
  list: JobListView,
  { identity, terms, block, committed }: ExpectedJob,
  signal: AbortSignal | undefined,
): Promise<void> {
  check((await termsHash(list.terms)) === (await termsHash(terms)), 'it has other terms')
  check(
    list.block.number === block.number && list.block.hash === block.hash,
    'its list is of another block',
  )
  check(list.members.join() === committed.list.join(), 'it has another list of nodes')
  check(
    list.activator === committed.activator && list.until === committed.until,
    'its list has another activator, or another end',
  )
  const { kpHighHandle, kpLowHandle } = identity
  const onChain = await chain.listCommitmentOf(kpHighHandle, kpLowHandle, signal)
  check(onChain === listCommitment(committed), 'the chain holds another list for its key')
}

/**
 * Any wallet can sign, also one that has lost or withdrawn its stake: each must have the least stake in the latest block, those that
 * joined later as well. So many signers have so many stakes at once.
 */
async function checkNodes(
  { chain }: ClientContext,
  receipt: Receipt,
  minTier: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const nodes = [receipt.leader, ...receipt.verifiers].map(({ body }) => body.address)
  for (const node of nodes) {
    // It may be leaving by now: its stake answers for its word until it is withdrawn.
    const { staked, modelTiers } = await chain.nodeOf(node, signal)
    if (staked && modelTiers.some((tier) => tier >= minTier)) continue
    throw new SvcError(
      'signer-unstaked',
      `${node} signed the receipt without a stake for that tier`,
      { hint },
    )
  }
}

const hint = 'Do not rely on this answer; run the job again or use another ICL.'

function check(holds: boolean, why: string): void {
  if (holds) return
  throw new SvcError('receipt-invalid', `The receipt does not hold: ${why}`, { hint })
}
