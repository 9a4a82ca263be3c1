import { z } from 'zod'
import {
  Address,
  Base64Url32,
  Cid,
  Hash32,
  JobId,
  ModelId,
  SessionPublicKey,
  SessionSignature,
  Uint256,
  UnixSeconds,
} from '../codecs.ts'
import { SessionGrant } from './attestation.ts'
import { Evidence } from './evidence.ts'
import { AbortReason, MaxOutputTokens, Verdict, VerdictReason } from './jobs.ts'
import { ListPosition } from './list.ts'

/** Grows with each offer of a job's assignments: a node that holds an older one has lost the assignment. */
export const Fence = z.int().min(1).max(1_000_000)

/** Which node speaks of which of its assignments: each statement of a node begins with these. */
const about = { jobId: JobId, address: Address, fence: Fence }

/** A node's answer as it is revealed: what it looks like, never the text. It opens the commitment that its node made before. */
export const AnswerStatement = z
  .object({
    statement: z.literal('svc-answer-v2'),
    ...about,
    position: ListPosition.describe("Of the node on the job's list"),
    list: Hash32.describe('The commitment to the list, as PromptKeyStore holds it'),
    model_id: ModelId.describe('The model that gave the answer: what the node vouches for'),
    max_output_tokens: MaxOutputTokens,
    evidence: Evidence,
    salt: Base64Url32,
  })
  .meta({ id: 'AnswerStatement' })
export type AnswerStatement = z.output<typeof AnswerStatement>

/** Where a member of the agreement has put its answer: the sealed text and its key. */
export const DeliveryStatement = z
  .object({
    statement: z.literal('svc-delivery-v2'),
    ...about,
    answer: Hash32.describe("SHA-256 of the deliverer's own answer statement"),
    output_cid: Cid,
    outHighHandle: Uint256,
    outLowHandle: Uint256,
  })
  .meta({ id: 'DeliveryStatement' })
export type DeliveryStatement = z.output<typeof DeliveryStatement>

/**
 * What another node says of a delivery. A member of the agreement opens the output and says `match`, or `no-match` for what it found wrong with the output;
 * any other node says from the evidence alone how its own answer differs.
 */
export const VerdictStatement = z
  .object({
    statement: z.literal('svc-verdict-v2'),
    ...about,
    answer: Hash32.describe('SHA-256 of the own answer statement'),
    delivery: Hash32.describe('SHA-256 of the delivery statement'),
    verdict: Verdict,
    reason: VerdictReason.optional().describe('Only of a `no-match`, and always'),
    check: Hash32.optional().describe(
      'Only of a `match`: SHA-256 of JCS{jobId, address, fence, delivery, score, salt}',
    ),
  })
  .meta({ id: 'VerdictStatement' })
export type VerdictStatement = z.output<typeof VerdictStatement>

/** Which member's turn to deliver it is, counted from 0 in the order that the salts draw. */
export const TurnNumber = z.int().min(0).max(6)

/** A member of the agreement gives back its part in a turn: its own delivery, or its check of another's. */
export const TurnAbortStatement = z
  .object({
    statement: z.literal('svc-abort-v2'),
    ...about,
    turn: TurnNumber,
    reason: AbortReason,
  })
  .meta({ id: 'TurnAbortStatement' })
export type TurnAbortStatement = z.output<typeof TurnAbortStatement>

/** A statement as its node posts it. */
export const AnswerPost = AnswerStatement.extend({ signature: SessionSignature }).meta({
  id: 'AnswerPost',
})
export type AnswerPost = z.output<typeof AnswerPost>

export const DeliveryPost = DeliveryStatement.extend({ signature: SessionSignature }).meta({
  id: 'DeliveryPost',
})
export type DeliveryPost = z.output<typeof DeliveryPost>

export const VerdictPost = VerdictStatement.extend({ signature: SessionSignature }).meta({
  id: 'VerdictPost',
})
export type VerdictPost = z.output<typeof VerdictPost>

export const TurnAbortPost = TurnAbortStatement.extend({ signature: SessionSignature }).meta({
  id: 'TurnAbortPost',
})
export type TurnAbortPost = z.output<typeof TurnAbortPost>

/** The session key that signed a statement and its wallet's word for it. */
export const StatementSession = SessionGrant.extend({ key: SessionPublicKey }).meta({
  id: 'StatementSession',
})
export type StatementSession = z.output<typeof StatementSession>

/** A statement, its signature, and its wallet's word for the key. */
export const SignedAnswer = z
  .object({ body: AnswerStatement, signature: SessionSignature, session: StatementSession })
  .meta({ id: 'SignedAnswer' })
export type SignedAnswer = z.output<typeof SignedAnswer>

export const SignedDelivery = z
  .object({ body: DeliveryStatement, signature: SessionSignature, session: StatementSession })
  .meta({ id: 'SignedDelivery' })
export type SignedDelivery = z.output<typeof SignedDelivery>

export const SignedVerdict = z
  .object({ body: VerdictStatement, signature: SessionSignature, session: StatementSession })
  .meta({ id: 'SignedVerdict' })
export type SignedVerdict = z.output<typeof SignedVerdict>

export const SignedTurnAbort = z
  .object({ body: TurnAbortStatement, signature: SessionSignature, session: StatementSession })
  .meta({ id: 'SignedTurnAbort' })
export type SignedTurnAbort = z.output<typeof SignedTurnAbort>

/** A step of a node that the ICL acknowledges. */
export const AckStep = z.enum(['commit', 'reveal', 'result'])

/** What the ICL has taken from a node in time. A receipt that calls the step missed is false. */
export const AckStatement = z
  .object({
    statement: z.literal('svc-ack-v2'),
    ...about,
    step: AckStep,
    body_hash: Hash32.describe('The commitment, or SHA-256 of the answer or delivery statement'),
    at: UnixSeconds.describe('When the ICL took it first'),
  })
  .meta({ id: 'AckStatement' })
export type AckStatement = z.output<typeof AckStatement>

/** An acknowledgement, signed by one of the ICL's published keys. */
export const Ack = z
  .object({ body: AckStatement, key: SessionPublicKey, signature: SessionSignature })
  .meta({ id: 'Ack' })
export type Ack = z.output<typeof Ack>
