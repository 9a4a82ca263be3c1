import { z } from 'zod'
import { Address, Hash32, IclOrigin, JobId, NextCursor, Uint256, UnixSeconds } from '../codecs.ts'
import { named } from './named.ts'
import { SignedAnswer, SignedDelivery, SignedVerdict } from './statements.ts'

/** A provable fault of a node: two contradictory signed statements, or a verdict that its own evidence refutes. */
export const FaultKind = z.enum(['equivocated', 'verdict-refuted'])
export type FaultKind = z.output<typeof FaultKind>

/** The state of a fault on chain; `off` when the ICL's operator slashes nobody. */
export const SlashState = z.enum(['off', 'proposed', 'executed', 'cancelled'])
export type SlashState = z.output<typeof SlashState>

/**
 * The proof of a fault, checked without a network. `equivocated`: two different answers, or two deliveries, for one fence, or two verdicts
 * on one delivery. `verdict-refuted`: the deliverer's answer, its delivery, the accused's answer, and its verdict, which these contradict.
 */
export const FaultEvidence = named('FaultEvidence', {
  version: z.literal(2),
  kind: FaultKind,
  icl_origin: IclOrigin,
  chain_id: z.int().positive(),
  jobId: JobId,
  fence: z.int().min(1),
  address: Address,
  statements: z
    .array(z.union([SignedAnswer, SignedDelivery, SignedVerdict]))
    .min(2)
    .max(4),
})
export type FaultEvidence = z.output<typeof FaultEvidence>

/** A fault and its slash. The evidence is present from when the job has settled until the slash has. */
export const FaultView = named('FaultView', {
  fault_id: Hash32,
  kind: FaultKind,
  jobId: JobId,
  fence: z.int(),
  address: Address,
  at: UnixSeconds,
  /** SHA-256 of the evidence's canonical JSON, as on chain; absent when nothing was proposed and the evidence is deleted. */
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
  /** The error of the last attempt to slash. */
  slash_error: z.string().max(10_000).optional(),
})
export type FaultView = z.output<typeof FaultView>

/** A node's faults, newest first, while their jobs are kept. */
export const NodeFaults = named('NodeFaults', {
  faults: z.array(FaultView).max(20),
  next_cursor: NextCursor,
})
export type NodeFaults = z.output<typeof NodeFaults>
