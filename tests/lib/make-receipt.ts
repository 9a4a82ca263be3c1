import { keccak256, stringToHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { decide, defaultMaxAnswers } from '../../lib/agreement-rule.ts'
import type { Address, ComparatorId } from '../../lib/codecs.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { deliverers } from '../../lib/delivery-rule.ts'
import { toBase64Url } from '../../lib/digest.ts'
import { type JobIdentity, jobIdOf } from '../../lib/job-id.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import { receiptQuota } from '../../lib/receipt/answers.ts'
import { recordHash } from '../../lib/receipt.ts'
import type { DeliveryReason, VerdictReason } from '../../lib/schemas/jobs.ts'
import type { JobListView } from '../../lib/schemas/list.ts'
import type { Receipt, ReceiptRecord, Tally } from '../../lib/schemas/receipt.ts'
import type {
  AnswerStatement,
  BatchCommitment,
  DeliveryStatement,
  SignedAnswer,
  SignedDelivery,
  SignedVerdict,
  VerdictStatement,
} from '../../lib/schemas/statements.ts'
import type { AgreementRule, Terms } from '../../lib/schemas/terms.ts'
import { sessionTypedData } from '../../lib/session-grant.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import {
  commitmentOf,
  type NodeStatement,
  seenHash,
  statementBytes,
  statementHash,
} from '../../lib/statements.ts'
import { aHash } from '../branded.ts'

const iclOrigin = 'https://icl.test'
const chainId = 31_337
const settledAt = 1_800_000_100

const seedOf = (byte: number) => new Uint8Array(32).fill(byte)

/** A wallet made from a name. */
function walletOf(name: string) {
  const account = privateKeyToAccount(keccak256(stringToHex(name)))
  return { account, address: account.address.toLowerCase() as Address }
}

/** A wallet with a session key that it has granted at an ICL. */
export async function signerOf(name: string, byte: number, at = iclOrigin) {
  const { account, address } = walletOf(name)
  const key = await signingKeyFromSeed(seedOf(byte))
  const notAfter = settledAt + 86_400
  const session = { address, key: key.publicKey, iclOrigin: at, chainId, notAfter }
  const grant = sessionTypedData(session)
  const signature = await account.signTypedData(grant)
  return { address, key, session: { key: key.publicKey, not_after: notAfter, signature } }
}

/** The node at a position of the sample list: n1 at 0. Its session key is made from the byte 21 and up. */
export const nodeAt = (position: number, at = iclOrigin) =>
  signerOf(`n${position + 1}`, 21 + position, at)

/** The address of the node at a position of the sample list. */
export const addressAt = (position: number): Address => walletOf(`n${position + 1}`).address

/** The key that signs the tallies of these receipts. */
export const tallyKey = () => signingKeyFromSeed(seedOf(30))

/** A statement with the signature and the session of the node that it names, which is one of the sample list. */
export async function signedByNode<S extends NodeStatement>(body: S, at = iclOrigin) {
  const position = Array.from({ length: 9 }, (_, at) => addressAt(at)).indexOf(body.address)
  const { key, session } = await nodeAt(position, at)
  return { body, signature: await key.sign(statementBytes(body)), session }
}

/** A list of nine nodes, or of as many as there are. */
export const sampleList = (
  comparator: ComparatorId,
  rule: AgreementRule = 'three',
  terms: Partial<Terms> = {},
  length = 9,
): JobListView => ({
  terms: {
    icl_origin: iclOrigin,
    pool_cid: `bafkrei${'d'.repeat(51)}a`,
    model_id: 'openai:test',
    min_tier: 0,
    comparator,
    rule,
    quorum: 3,
    max_answers: defaultMaxAnswers[rule],
    min_matches: 1,
    list_length: 9,
    salt: toBase64Url(seedOf(8)),
    ...terms,
  },
  block: { number: 7n, hash: aHash(`0x${'e'.repeat(64)}`) },
  members: Array.from({ length }, (_, position) => addressAt(position)),
  passed: [],
  activator: walletOf('coordinator').address,
  until: settledAt + 1_000,
})

/** A turn that came to nothing: without a delivery, or with one that all others refused, or that none checked. */
type FailedTurn = Extract<
  DeliveryReason,
  'never-delivered' | 'output-refused' | 'never-checked' | 'node-failed'
>

/** What a receipt is made of besides its answers. */
export type ReceiptChanges = {
  readonly rule?: AgreementRule
  readonly terms?: Partial<Terms>
  /** Nodes on the list; 9 when left out. */
  readonly listLength?: number
  readonly identity?: Partial<JobIdentity>
  readonly list?: Partial<JobListView>
  readonly over?: Receipt['over']
  /** By batch: how many of the nodes in `over` saw its commitments and did not reveal. */
  readonly silent?: readonly number[]
  /** Positions of the answers; from 0 on when left out. */
  readonly positions?: readonly number[]
  /** Fences of the answers; from 1 on when left out. */
  readonly fences?: readonly number[]
  /** The first turns, which fail. */
  readonly failed?: readonly FailedTurn[]
  /** By position: what a member says of the delivery; nothing where it is `silent`. */
  readonly verdicts?: Readonly<Record<number, VerdictReason | 'silent'>>
  /** What the evidence is of besides the text. */
  readonly asked?: { readonly prompt: string; readonly key: Uint8Array<ArrayBuffer> }
  readonly output?: Partial<DeliveryStatement>
}

/** A receipt, with its record signed by the ICL again after changes. */
export async function tallied(
  record: ReceiptRecord,
  tally: Pick<Tally, 'group' | 'deliverer'> & Partial<Tally>,
): Promise<Receipt> {
  const key = await tallyKey()
  const body: Tally = {
    statement: 'svc-tally-v3',
    jobId: record.jobId,
    record: await recordHash(record),
    settled_at: settledAt,
    ...tally,
  }
  return {
    ...record,
    tally: { body, key: key.publicKey, signature: await key.sign(statementBytes(body)) },
  }
}

/** A receipt of a job whose nodes gave these answers, in their order, as the coordinator would have seated and decided. */
export async function makeReceipt(
  comparator: ComparatorId,
  texts: readonly string[],
  changes: ReceiptChanges = {},
): Promise<{ readonly receipt: Receipt; readonly iclKey: string }> {
  const { rule, terms, listLength, failed = [], over = [] } = changes
  const identity = {
    chainId,
    client: walletOf('client').address,
    promptCid: `bafkrei${'a'.repeat(52)}`,
    kpHighHandle: 11n,
    kpLowHandle: 12n,
    clientNonce: 13n,
    ...changes.identity,
  }
  const jobId = jobIdOf(identity)
  const list = { ...sampleList(comparator, rule, terms, listLength), ...changes.list }
  const { activator, until, members } = list
  const about = {
    jobId,
    list: listCommitment({ jobId, activator, until, list: members }),
    model_id: list.terms.model_id,
    max_output_tokens: 1_024,
  }
  const { prompt, key } = changes.asked ?? { prompt: 'Why is the sky blue?', key: seedOf(3) }
  const given: AnswerStatement[] = []
  for (const [index, text] of texts.entries()) {
    const position = changes.positions?.[index] ?? index
    given.push({
      statement: 'svc-answer-v3',
      ...about,
      address: members[position] ?? addressAt(position),
      fence: changes.fences?.[index] ?? 1 + index,
      position,
      evidence: await comparators[comparator].evidenceOf({ text, prompt, key }),
      ended: 'stop',
      usage: { input_tokens: 5, output_tokens: index + 1 },
      salt: toBase64Url(seedOf(40 + position)),
      seen: about.list,
    })
  }
  const { answers, seen, group, mask } = await batched(given, list, comparator, changes)
  const order = deliverers(group)
  const deliverer = order[failed.length]!
  const turnOf = (of: AnswerStatement, verdicts: NonNullable<ReceiptChanges['verdicts']>) =>
    delivered(of, { answers, group, list, output: changes.output ?? {} }, verdicts)
  const failedTurns: Receipt['failed_deliveries'] = []
  for (const [turn, reason] of failed.entries()) {
    const { address } = order[turn]!
    const say = (said: VerdictReason | 'silent') =>
      turnOf(order[turn]!, Object.fromEntries(answers.map(({ position }) => [position, said])))
    const turned =
      reason === 'output-refused'
        ? await say('output-mismatch')
        : reason === 'never-checked'
          ? await say('silent')
          : { verdicts: [] }
    const { fence } = order[turn]!
    const abort =
      reason === 'node-failed' &&
      (await signedByNode(
        { statement: 'svc-abort-v2', jobId, address, fence, turn, reason },
        list.terms.icl_origin,
      ))
    failedTurns.push({ address, reason, ...(abort && { abort }), ...turned })
  }
  const { kpHighHandle, kpLowHandle, clientNonce, promptCid } = identity
  const receipt = await tallied(
    {
      version: 4,
      icl_origin: list.terms.icl_origin,
      chain_id: identity.chainId,
      jobId,
      client: identity.client,
      client_nonce: clientNonce,
      ...{ kpHighHandle, kpLowHandle, prompt_cid: promptCid },
      max_output_tokens: about.max_output_tokens,
      list,
      answers: await Promise.all(
        answers.map(async ({ batch, ...body }) => ({
          ...(await signedByNode(body, list.terms.icl_origin)),
          batch,
        })),
      ),
      ...{ seen, over },
      failed_deliveries: failedTurns,
      ...(await turnOf(deliverer, changes.verdicts ?? {})),
    },
    { group: mask, deliverer: deliverer.address },
  )
  return { receipt, iclKey: receipt.tally.key }
}

type Batched = AnswerStatement & { readonly batch: number }

/** The answers with their batches and what their nodes saw, as they were asked for, and those that agree: of all when not enough do. */
async function batched(
  given: readonly AnswerStatement[],
  list: JobListView,
  comparator: ComparatorId,
  { over = [], silent = [] }: ReceiptChanges,
): Promise<{
  readonly answers: readonly Batched[]
  readonly seen: BatchCommitment[][]
  readonly group: readonly Batched[]
  readonly mask: number
}> {
  const { compare } = comparators[comparator]
  const quota = receiptQuota({ list })
  const unrevealed = over.filter(({ reason }) => reason === 'never-revealed')
  const seen: BatchCommitment[][] = []
  const answers: Batched[] = []
  let size = quota.quorum
  for (let batch = 0; ; batch++) {
    const missed = silent[batch] ?? 0
    const next = given.slice(answers.length, answers.length + size - missed)
    const commitments = await commitmentsOf(next)
    for (const { position, fence } of unrevealed.splice(0, missed)) {
      const commitment = aHash(`0x${'c'.repeat(64)}`)
      commitments.push({ address: list.members[position]!, fence, commitment })
    }
    seen.push(commitments.toSorted((a, b) => a.fence - b.fence))
    const hash = await seenHash(commitments)
    answers.push(...next.map((answer) => ({ ...answer, batch, seen: hash })))
    if (missed > 0) {
      size = missed
      continue
    }
    const decision = decide(
      answers,
      (one, other) => compare(one.evidence, other.evidence) === 'match',
      quota,
    )
    if (decision.outcome === 'accepted' && answers.length === given.length) {
      return { answers, seen, group: decision.group, mask: decision.mask }
    }
    if (decision.outcome !== 'more' || answers.length === given.length) {
      throw new RangeError(`${answers.length} of ${given.length} answers are ${decision.outcome}`)
    }
    size = decision.count
  }
}

const commitmentsOf = (answers: readonly AnswerStatement[]): Promise<BatchCommitment[]> =>
  Promise.all(
    answers.map(async (answer) => {
      const { address, fence } = answer
      return { address, fence, commitment: await commitmentOf(answer) }
    }),
  )

/** A delivery of an answer, and what the others say of it. */
async function delivered(
  answer: AnswerStatement,
  job: {
    readonly answers: readonly Batched[]
    readonly group: readonly Batched[]
    readonly list: JobListView
    readonly output: Partial<DeliveryStatement>
  },
  reasons: NonNullable<ReceiptChanges['verdicts']>,
): Promise<{ readonly delivery: SignedDelivery; readonly verdicts: SignedVerdict[] }> {
  const { jobId, address, fence, position } = answer
  const { comparator, icl_origin: at } = job.list.terms
  const body: DeliveryStatement = {
    statement: 'svc-delivery-v2',
    ...{ jobId, address, fence },
    answer: await statementHash(unbatched(answer)),
    output_cid: `bafkrei${'abcefgh'[position % 7]}${'b'.repeat(50)}a`,
    outHighHandle: 14n,
    outLowHandle: 15n,
    ...job.output,
  }
  const verdicts: SignedVerdict[] = []
  for (const own of job.answers) {
    if (own.address === address) continue
    const isMember = job.group.includes(own)
    const outcome = comparators[comparator].compare(answer.evidence, own.evidence)
    const seen = outcome === 'no-match' ? 'different-answer' : 'inconclusive'
    // A node that matches the deliverer, but not all of the group, has nothing to say.
    if (!isMember && outcome === 'match') continue
    const reason = isMember ? reasons[own.position] : seen
    if (reasons[own.position] === 'silent' || reason === 'silent') continue
    const verdict: VerdictStatement = {
      statement: 'svc-verdict-v2',
      ...{ jobId, address: own.address, fence: own.fence },
      answer: await statementHash(unbatched(own)),
      delivery: await statementHash(body),
      verdict: reason === undefined ? 'match' : 'no-match',
      ...(reason !== undefined && { reason }),
    }
    verdicts.push(await signedByNode(verdict, at))
  }
  return { delivery: await signedByNode(body, at), verdicts }
}

const unbatched = (answer: AnswerStatement & { readonly batch?: number }): AnswerStatement => {
  const { batch: _, ...body } = answer
  return body
}

/** An answer of a receipt as its node signed it. */
export const answerOf = (receipt: Receipt, address: Address): SignedAnswer => {
  const answer = receipt.answers.find(({ body }) => body.address === address)
  if (!answer) throw new RangeError(`${address} has no answer`)
  const { body, signature, session } = answer
  return { body, signature, session }
}
