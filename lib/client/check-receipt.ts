import type { RegisteredNode } from '../chain/node-registry.ts'
import type { OutputKey } from '../chain/output-key-of.ts'
import type { Hash32, JobId } from '../codecs.ts'
import { type JobIdentity, jobIdOf } from '../job-id.ts'
import { maskOf } from '../list.ts'
import { type ListTerms, listCommitment } from '../list-commitment.ts'
import { receiptHash, verifyReceipt } from '../receipt.ts'
import { defaultMaxOutputTokens, type JobView } from '../schemas/jobs.ts'
import type { BlockId, JobListView } from '../schemas/list.ts'
import type { Receipt } from '../schemas/receipt.ts'
import type { Terms } from '../schemas/terms.ts'
import { type Check, checkerOf, SvcError } from '../svc-error.ts'
import { termsHash } from '../terms.ts'
import { type ClientContext, patient } from './context.ts'
import { publishedKeys } from './published-keys.ts'
import type { JobWish } from './submit-job.ts'
import { type JobOrder, listTermsOf } from './submit-job.ts'

// A session key is valid until a time, so a receipt may not choose its own time. Clocks differ a little.
const clockToleranceSeconds = 600
const keyLooks = 4
const keyPauseMs = 5_000

/** The job that a receipt must be about. */
export type ExpectedJob = {
  readonly jobId: JobId
  readonly identity: JobIdentity
  readonly maxOutputTokens: number
  /** The chain's time when the job was made, Unix seconds. */
  readonly preparedAt: number
  /** The terms whose hash this client stored with the key. */
  readonly terms: Terms
  /** The block that holds the prompt key. */
  readonly block: BlockId
  /** The list that this client committed to. */
  readonly committed: ListTerms
  /** The members that the commitment let read the prompt, as bits by position. */
  readonly granted: number
}

/** Returns what the job's receipt has to say. `preparedAt` is the chain's time (Unix seconds) before the job was submitted. */
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
    granted: maskOf(list.positions),
  }
}

/** Fetches and checks a job's receipt; throws SvcError `receipt-invalid`, `receipt-differs`, `reader-unknown` or `signer-unstaked`. */
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
    { ...patient, readToken, signal },
  )
  await verifyReceipt(receipt, { iclKeys: await publishedKeys(context, receipt.tally.key, signal) })
  checkIdentity(receipt, job)
  await checkList(receipt.list, job)
  const chain = readChain(context, receipt, signal)
  await checkKey(chain, receipt.list, job)
  const hash = await receiptHash(receipt)
  check(hash === view.receipt_hash, 'its hash is not the one that the ICL named')
  check(receipt.delivery.body.output_cid === view.output_cid, 'it is about another output')
  const now = await chain.now
  const settledAt = receipt.tally.body.settled_at
  check(
    settledAt >= job.preparedAt - clockToleranceSeconds && settledAt <= now + clockToleranceSeconds,
    'it claims to have settled at another time',
  )
  await checkNodes(context, receipt, chain.nodes, signal)
  await checkReaders(context, receipt, chain, job.granted, signal)
  return { receipt, hash }
}

/** Starts all reads of the chain at once: its RPC then gets them as one batch. */
function readChain(context: ClientContext, receipt: Receipt, signal: AbortSignal | undefined) {
  const { chain } = context
  const { answers, list, kpHighHandle, kpLowHandle } = receipt
  const { outHighHandle, outLowHandle } = receipt.delivery.body
  const look = () => chain.outputKeyOf(outHighHandle, outLowHandle, list.block.number, signal)
  const reads = {
    stored: chain.storedKeyAt(kpHighHandle, kpLowHandle, list.block.number, signal),
    bound: chain.listOf(kpHighHandle, kpLowHandle, signal),
    now: chain.time(signal),
    nodes: Promise.all(answers.map(({ body }) => chain.nodeOf(body.address, signal))),
    output: look(),
  }
  // A check before may fail first.
  for (const read of Object.values(reads)) read.catch(() => {})
  return { ...reads, look }
}

type ChainReads = ReturnType<typeof readChain>

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

/** The list must be the one that this client drew and committed to. Its terms name model, comparator, rule and ICL. */
async function checkList(
  list: JobListView,
  { terms, block, committed }: ExpectedJob,
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
}

/** The chain must still hold the key in that block, with these terms, bound to this list. */
async function checkKey(
  reads: ChainReads,
  { terms, block }: JobListView,
  { committed }: ExpectedJob,
): Promise<void> {
  const [stored, bound] = [await reads.stored, await reads.bound]
  const isKnown = stored?.block.hash === block.hash && stored.termsHash === (await termsHash(terms))
  if (!isKnown) throw differs('holds no such key in the block of its list')
  if (bound?.commitment !== listCommitment(committed))
    throw differs('holds another list for its key')
}

/**
 * A wallet can sign without a stake, or after it lost or withdrew one. So each node that answered must have the least stake in the latest
 * block. The tier is what the node serves now or served when the list was drawn, because its operator may change it later.
 */
async function checkNodes(
  { chain }: ClientContext,
  { answers, list }: Receipt,
  nodes: ChainReads['nodes'],
  signal: AbortSignal | undefined,
): Promise<void> {
  const serves = ({ modelTiers }: RegisteredNode) =>
    modelTiers.some((tier) => tier >= list.terms.min_tier)
  for (const [at, node] of (await nodes).entries()) {
    const { body } = answers[at] as Receipt['answers'][number]
    // The node may be leaving. Its stake remains liable until it is withdrawn.
    const drawn = async () => serves(await chain.nodeOf(body.address, signal, list.block.number))
    if (node.staked && (serves(node) || (await drawn()))) continue
    throw new SvcError(
      'signer-unstaked',
      `${body.address} signed the receipt without a stake for that tier`,
      { hint },
    )
  }
}

/** Only this client and the nodes that the receipt names as seated may read prompt and output. */
async function checkReaders(
  context: ClientContext,
  { answers, over, list, delivery, client, kpHighHandle }: Receipt,
  reads: ChainReads,
  granted: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const positions = [
    ...answers.map(({ body }) => body.position),
    ...over.map((seat) => seat.position),
  ]
  const known = maskOf(positions) | granted
  const { used = 0 } = (await reads.bound) ?? {}
  if ((used & ~known) !== 0) {
    const unknown = list.members.find((_, position) => ((used & ~known) >> position) & 1)
    throw readerUnknown('prompt', unknown)
  }
  const { address } = delivery.body
  const output = await outputKeyOf(context, reads, signal)
  if (output?.promptHighHandle !== kpHighHandle || list.members[output.self] !== address) {
    throw differs('holds no such output key of the node that delivered')
  }
  const answered = new Set([client, ...answers.map(({ body }) => body.address)])
  const unknown = output.readers.find((reader) => !answered.has(reader))
  if (unknown !== undefined) throw readerUnknown('answer', unknown)
}

/** Returns the delivered output key. It may be newer than the latest block of this client's chain RPC, so this retries. */
async function outputKeyOf(
  { clock }: ClientContext,
  { output, look }: ChainReads,
  signal: AbortSignal | undefined,
): Promise<OutputKey | undefined> {
  let key = await output
  for (let looks = 1; key === undefined && looks < keyLooks; looks++) {
    await clock.sleep(keyPauseMs, signal)
    key = await look()
  }
  return key
}

const hint = 'Do not rely on this answer. Run the job again or use another ICL.'

/** Throws SvcError `receipt-invalid` unless something about a receipt holds. */
export const check: Check = checkerOf('receipt-invalid', 'The receipt does not hold', hint)

/** SvcError `receipt-differs`. */
export const differs = (why: string): SvcError =>
  new SvcError('receipt-differs', `The receipt does not fit the chain, which ${why}`, { hint })

const readerUnknown = (what: string, reader: string | undefined): SvcError =>
  new SvcError(
    'reader-unknown',
    `The ${what} is open to ${reader}, which the receipt does not name as a node of the job`,
    { hint: 'Take it as read by that account. Run the next job at another ICL.' },
  )
