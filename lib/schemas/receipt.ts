import { z } from 'zod'
import { Address, Cid, Hash32, IclOrigin, JobId, Uint256, UnixSeconds } from '../codecs.ts'
import { AssignmentReason, DeliveryReason, MaxOutputTokens, mostAssignments } from './jobs.ts'
import { JobListView, ListPosition } from './list.ts'
import { named, signedByIcl } from './named.ts'
import {
  BatchCommitments,
  Fence,
  SignedAnswer,
  SignedDelivery,
  SignedNumbers,
  SignedTurnAbort,
  SignedVerdict,
} from './statements.ts'

/** The ICL's signed statement of what was agreed. */
export const Tally = named('Tally', {
  statement: z.literal('svc-tally-v3'),
  jobId: JobId,
  /** SHA-256 of the receipt without its tally, in canonical JSON. */
  record: Hash32,
  /** The answers that match one another: bit i is answer i of the receipt. */
  group: z.int().min(1).max(127),
  deliverer: Address,
  settled_at: UnixSeconds,
})
export type Tally = z.output<typeof Tally>

/** A seat whose node gave no answer. */
const SeatOver = z.object({
  position: ListPosition,
  fence: Fence,
  reason: AssignmentReason,
  at: UnixSeconds,
})

/** A turn of a member that failed: given back by its own statement, refused by verdicts on its delivery, or lapsed by the ICL's word. */
const FailedDelivery = z.object({
  address: Address,
  reason: DeliveryReason,
  abort: SignedTurnAbort.optional(),
  delivery: SignedDelivery.optional(),
  verdicts: z.array(SignedVerdict).max(6),
})

/** A receipt without the ICL's signature. */
export const ReceiptRecord = z.object({
  version: z.literal(4),
  icl_origin: IclOrigin,
  chain_id: z.int().positive(),
  jobId: JobId,
  client: Address,
  client_nonce: Uint256,
  kpHighHandle: Uint256,
  kpLowHandle: Uint256,
  prompt_cid: Cid,
  max_output_tokens: MaxOutputTokens,
  list: JobListView,
  /** All answers, dissenting ones too, ordered by batch and position. */
  answers: z
    .array(
      SignedAnswer.extend({
        batch: z
          .int()
          .min(0)
          .max(mostAssignments - 1),
      }),
    )
    .min(3)
    .max(7),
  /** The commitments of each batch. Its answers sign that their nodes saw all of them before they revealed. */
  seen: z.array(BatchCommitments).min(1).max(mostAssignments),
  /** In the order in which the seats were given. */
  over: z.array(SeatOver).max(mostAssignments),
  failed_deliveries: z.array(FailedDelivery).max(6),
  delivery: SignedDelivery,
  /** The verdicts on the delivery: those of the group, and those of other nodes that came in time. */
  verdicts: z.array(SignedVerdict).max(6),
  /** How likely the answers are under the models of other nodes, by their word. Only the provider could compute it again. It did not decide which answers agree. */
  attested: z.array(SignedNumbers).min(1).max(7).optional(),
})
export type ReceiptRecord = z.output<typeof ReceiptRecord>

/** Proves who agreed on an answer. It can be checked offline, and its hash is on chain. */
export const Receipt = ReceiptRecord.extend({
  /** Signed by one of the ICL's published keys. */
  tally: z.object(signedByIcl(Tally)),
}).meta({ id: 'Receipt' })
export type Receipt = z.output<typeof Receipt>
