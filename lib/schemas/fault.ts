import { z } from 'zod'
import { Address, Hash32, JobId, SessionSignature, Uint256, UnixSeconds } from '../codecs.ts'
import { Role } from './jobs.ts'
import { LeaderStatement, StatementSession, VerifierStatement } from './receipt.ts'

/** What a node can be proven to have done wrong: two contradictory signed statements, or a verdict that its own evidence refutes. */
export const FaultKind = z.enum(['equivocated', 'verdict-refuted'])
export type FaultKind = z.output<typeof FaultKind>

/** What becomes of a fault on chain; `off` when the operator of the ICL has nobody slashed. */
export const SlashState = z.enum(['off', 'proposed', 'executed', 'cancelled'])
export type SlashState = z.output<typeof SlashState>

/** A leader's statement, its signature, and its wallet's word for the key. */
export const SignedLeader = z
  .object({ body: LeaderStatement, signature: SessionSignature, session: StatementSession })
  .meta({ id: 'SignedLeader' })

/** A verifier's statement, its signature, and its wallet's word for the key. */
export const SignedVerifier = z
  .object({ body: VerifierStatement, signature: SessionSignature, session: StatementSession })
  .meta({ id: 'SignedVerifier' })

/** Proof of a fault that checks without a network: two statements, of a refuted verdict the leader's first. */
export const FaultEvidence = z
  .object({
    version: z.literal(1),
    kind: FaultKind,
    icl_origin: z.string().max(512),
    chain_id: z.int().positive(),
    jobId: JobId,
    role: Role,
    fence: z.int().min(1),
    address: Address,
    statements: z.array(z.union([SignedLeader, SignedVerifier])).length(2),
  })
  .meta({ id: 'FaultEvidence' })
export type FaultEvidence = z.output<typeof FaultEvidence>

/** A fault and what became of it; the evidence from when the job has settled until the slash has. */
export const FaultView = z
  .object({
    fault_id: Hash32,
    kind: FaultKind,
    jobId: JobId,
    role: Role,
    fence: z.int(),
    address: Address,
    at: UnixSeconds,
    /** SHA-256 of the evidence's canonical JSON, as it stands on chain; absent when nothing was proposed and the evidence is gone. */
    evidence_hash: Hash32.optional(),
    evidence: FaultEvidence.optional(),
    slash: z
      .object({
        state: SlashState,
        amount_wei: Uint256,
        executable_at: UnixSeconds.optional(),
        answer_hash: Hash32.optional(),
        proposed_tx: Hash32.optional(),
        executed_tx: Hash32.optional(),
        taken_wei: Uint256.optional(),
      })
      .optional(),
    /** What the last try to slash failed with. */
    slash_error: z.string().optional(),
  })
  .meta({ id: 'FaultView' })
export type FaultView = z.output<typeof FaultView>

/** A node's faults, newest first, as far as their jobs are still kept. */
export const NodeFaults = z
  .object({ faults: z.array(FaultView).max(20), next_cursor: z.string().nullable() })
  .meta({ id: 'NodeFaults' })
export type NodeFaults = z.output<typeof NodeFaults>
