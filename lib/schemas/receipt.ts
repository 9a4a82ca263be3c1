import { z } from 'zod'
import {
  Address,
  Cid,
  ComparatorId,
  Hash32,
  JobId,
  ModelId,
  SessionPublicKey,
  SessionSignature,
  Uint256,
  UnixSeconds,
} from '../codecs.ts'
import { LeaderResultBody, VerifierVerdictBody } from './assignments.ts'
import { SessionGrant } from './attestation.ts'
import { MaxOutputTokens } from './jobs.ts'
import { JobListView } from './list.ts'

/** The session key that signed a statement and its wallet's word for it. */
export const StatementSession = SessionGrant.extend({ key: SessionPublicKey }).meta({
  id: 'StatementSession',
})
export type StatementSession = z.output<typeof StatementSession>

/** A leader's answer as it is signed. */
export const LeaderStatement = LeaderResultBody.extend({
  statement: z.literal('svc-leader-v1'),
  address: Address,
}).meta({ id: 'LeaderStatement' })
export type LeaderStatement = z.output<typeof LeaderStatement>

/** A verifier's answer as it is signed. */
export const VerifierStatement = VerifierVerdictBody.extend({
  statement: z.literal('svc-verifier-v1'),
  address: Address,
}).meta({ id: 'VerifierStatement' })
export type VerifierStatement = z.output<typeof VerifierStatement>

/** What the ICL signs: how it counted. */
export const Tally = z
  .object({
    statement: z.literal('svc-tally-v2'),
    jobId: JobId,
    /** SHA-256 of the receipt's list in canonical JSON. */
    list: Hash32,
    leader_statement: Hash32,
    verifier_statements: z.array(Hash32),
    matches: z.int(),
    no_matches: z.int(),
    inconclusive: z.int(),
    settled_at: UnixSeconds,
  })
  .meta({ id: 'Tally' })
export type Tally = z.output<typeof Tally>

/** Who agreed on an answer: checks offline, and its hash is on chain. */
export const Receipt = z
  .object({
    version: z.literal(2),
    icl_origin: z.string(),
    chain_id: z.int().positive(),
    jobId: JobId,
    client: Address,
    client_nonce: Uint256,
    kpHighHandle: Uint256,
    kpLowHandle: Uint256,
    model_id: ModelId,
    max_output_tokens: MaxOutputTokens,
    prompt_cid: Cid,
    output_cid: Cid,
    comparator: ComparatorId,
    list: JobListView,
    leader: z.object({
      body: LeaderStatement,
      signature: SessionSignature,
      session: StatementSession,
    }),
    verifiers: z
      .array(
        z.object({
          body: VerifierStatement,
          signature: SessionSignature,
          session: StatementSession,
        }),
      )
      .min(2)
      .max(5),
    /** Signed by one of the ICL's published keys. */
    tally: z.object({ body: Tally, key: SessionPublicKey, signature: SessionSignature }),
  })
  .meta({ id: 'Receipt' })
export type Receipt = z.output<typeof Receipt>
