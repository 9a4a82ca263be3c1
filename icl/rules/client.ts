/*
 * Here belong facts of a client: what the ICL has learnt of one wallet, that no other document or the chain tells again, and that rules read.
 * Today that is one, its first accepted job.
 *
 * Elsewhere, on purpose:
 * - What one job or key asks for belongs to it: its webhook and what became of that is in the job, the room for a blob is held under the key or
 *   the fence.
 * - Places for running jobs and jobs of a day are keys of the store, each held by one job: with a counter in this document, all
 *   submissions of a client would wait for one another.
 * - Who may submit, and how much, is the operator's setting. Rates are counts of one process, and may be lost.
 * - Secrets (read tokens, those of webhooks) are derived from the ICL's secret and stored nowhere.
 */

import type { Address } from '../../lib/codecs.ts'
import type { AllowanceHolder } from '../../lib/reputation.ts'
import { dayMs } from '../../lib/time.ts'

/** What the ICL knows of a client; times in milliseconds. */
export type Client = {
  readonly address: Address
  /** When its first job was accepted. */
  readonly firstAcceptedAt: number
}

/** Until then after its first accepted job a client is new: wallets are free, and time is not. */
const newcomerMs = 7 * dayMs

/** The client after a job of it was accepted at a time; the same object when that was known. */
export const withAccepted = (client: Client | undefined, address: Address, at: number): Client =>
  client && client.firstAcceptedAt <= at ? client : { address, firstAcceptedAt: at }

/** Whose allowance the jobs of a client use at a time. */
export const allowanceOf = (client: Client | undefined, now: number): AllowanceHolder =>
  client && now - client.firstAcceptedAt >= newcomerMs ? client.address : 'newcomers'
