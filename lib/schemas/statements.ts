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
import { Ended, Usage } from './answer.ts'
import { SessionGrant } from './attestation.ts'
import { Evidence } from './evidence.ts'
import { AbortReason, MaxOutputTokens, Verdict, VerdictReason } from './jobs.ts'
import { ListPosition } from './list.ts'
import { named, signedByIcl } from './named.ts'
import { TeacherScore } from './teacher.ts'

/** Grows with each offer of a job's assignments. A node with an older one has lost the assignment. */
export const Fence = z.int().min(1).max(1_000_000)

/** The node and the assignment that a statement is about. Each statement of a node begins with these. */
const about = { jobId: JobId, address: Address, fence: Fence }

/** A node's commitment, as all nodes of its batch get it before they reveal. */
export const BatchCommitment = named('BatchCommitment', {
  address: Address,
  fence: Fence,
  commitment: Hash32,
})
export type BatchCommitment = z.output<typeof BatchCommitment>

/** The commitments of a batch, by fence. Its nodes reveal only once they know all of them. */
export const BatchCommitments = z.array(BatchCommitment).min(1).max(7)

/** A node's revealed answer: its evidence, never its text. It opens the node's commitment. */
export const AnswerStatement = named('AnswerStatement', {
  statement: z.literal('svc-answer-v3'),
  ...about,
  position: ListPosition.describe("Of the node on the job's list"),
  list: Hash32.describe('The commitment to the list, as PromptKeyStore holds it'),
  model_id: ModelId.describe('The model that gave the answer: what the node vouches for'),
  max_output_tokens: MaxOutputTokens,
  evidence: Evidence,
  ended: Ended.describe("The node's word, as is `usage`: the commitment does not cover them"),
  usage: Usage.optional().describe('Left out when the provider does not count'),
  salt: Base64Url32,
  seen: Hash32.describe("SHA-256 of JCS of its batch's commitments, by fence"),
})
export type AnswerStatement = z.output<typeof AnswerStatement>

/** Where a member of the agreement put its answer: the sealed text and its key. */
export const DeliveryStatement = named('DeliveryStatement', {
  statement: z.literal('svc-delivery-v2'),
  ...about,
  answer: Hash32.describe("SHA-256 of the deliverer's own answer statement"),
  output_cid: Cid,
  outHighHandle: Uint256,
  outLowHandle: Uint256,
})
export type DeliveryStatement = z.output<typeof DeliveryStatement>

/**
 * Another node's verdict on a delivery. A member of the agreement opens the output and says `match`, or `no-match` with what is wrong with
 * the output. Any other node says from the evidence alone how its own answer differs.
 */
export const VerdictStatement = named('VerdictStatement', {
  statement: z.literal('svc-verdict-v2'),
  ...about,
  answer: Hash32.describe('SHA-256 of the own answer statement'),
  delivery: Hash32.describe('SHA-256 of the delivery statement'),
  verdict: Verdict,
  reason: VerdictReason.optional().describe('Only of a `no-match`, and always'),
})
export type VerdictStatement = z.output<typeof VerdictStatement>

/** The number of a turn to deliver, from 0. */
export const TurnNumber = z.int().min(0).max(6)

/** A member of the agreement gives back its part in a turn: its own delivery, or its check of another's. */
export const TurnAbortStatement = named('TurnAbortStatement', {
  statement: z.literal('svc-abort-v2'),
  ...about,
  turn: TurnNumber,
  reason: AbortReason,
})
export type TurnAbortStatement = z.output<typeof TurnAbortStatement>

/**
 * How likely the answers that a node weighed are under its model, by its word (`teacher/1`). Only the provider could compute it again. Its
 * hash is the node's commitment, made before it sees the numbers of others.
 */
export const NumbersStatement = named('NumbersStatement', {
  statement: z.literal('svc-numbers-v1'),
  ...about,
  weighed: z
    .array(
      z.object({
        answer: Hash32.describe("SHA-256 of the answer statement of the text's node"),
        score: TeacherScore.optional().describe(
          'Left out for a text that does not open, or has other evidence than the answer',
        ),
      }),
    )
    .min(1)
    .max(2),
  salt: Base64Url32,
})
export type NumbersStatement = z.output<typeof NumbersStatement>

/** A statement as the node posts it. */
export const AnswerPost = named('AnswerPost', {
  ...AnswerStatement.shape,
  signature: SessionSignature,
})
export type AnswerPost = z.output<typeof AnswerPost>

export const DeliveryPost = named('DeliveryPost', {
  ...DeliveryStatement.shape,
  signature: SessionSignature,
})
export type DeliveryPost = z.output<typeof DeliveryPost>

export const VerdictPost = named('VerdictPost', {
  ...VerdictStatement.shape,
  signature: SessionSignature,
})
export type VerdictPost = z.output<typeof VerdictPost>

export const TurnAbortPost = named('TurnAbortPost', {
  ...TurnAbortStatement.shape,
  signature: SessionSignature,
})
export type TurnAbortPost = z.output<typeof TurnAbortPost>

export const NumbersPost = named('NumbersPost', {
  ...NumbersStatement.shape,
  signature: SessionSignature,
})
export type NumbersPost = z.output<typeof NumbersPost>

/** The session key that signed a statement, and its wallet's grant for it. */
export const StatementSession = SessionGrant.extend({ key: SessionPublicKey }).meta({
  id: 'StatementSession',
})
export type StatementSession = z.output<typeof StatementSession>

const signedByNode = <Body extends z.ZodType>(body: Body) => ({
  body,
  signature: SessionSignature,
  session: StatementSession,
})

/** A statement, its signature, and the wallet's grant for the key. */
export const SignedAnswer = named('SignedAnswer', signedByNode(AnswerStatement))
export type SignedAnswer = z.output<typeof SignedAnswer>

export const SignedDelivery = named('SignedDelivery', signedByNode(DeliveryStatement))
export type SignedDelivery = z.output<typeof SignedDelivery>

export const SignedVerdict = named('SignedVerdict', signedByNode(VerdictStatement))
export type SignedVerdict = z.output<typeof SignedVerdict>

export const SignedTurnAbort = named('SignedTurnAbort', signedByNode(TurnAbortStatement))
export type SignedTurnAbort = z.output<typeof SignedTurnAbort>

export const SignedNumbers = named('SignedNumbers', signedByNode(NumbersStatement))
export type SignedNumbers = z.output<typeof SignedNumbers>

/** A step of a node that the ICL acknowledges. */
const AckStep = z.enum(['commit', 'reveal', 'result'])

/** What the ICL accepted from a node in time. A receipt that says that the node missed the step is false. */
export const AckStatement = named('AckStatement', {
  statement: z.literal('svc-ack-v2'),
  ...about,
  step: AckStep,
  body_hash: Hash32.describe('The commitment, or SHA-256 of the answer or delivery statement'),
  at: UnixSeconds.describe('When the ICL took it first'),
})
export type AckStatement = z.output<typeof AckStatement>

/** An acknowledgement, signed by one of the ICL's published keys. */
export const Ack = named('Ack', signedByIcl(AckStatement))
export type Ack = z.output<typeof Ack>
