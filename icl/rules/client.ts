/*
 * This document holds the facts that the ICL has learnt of one wallet, that rules read, and that are found neither on chain nor in another
 * document. Today that is one fact: when its first job was accepted.
 *
 * Kept elsewhere, on purpose:
 * - What belongs to one job or key: a job holds its webhook and the result of its tries. The room for a blob is under its key or fence.
 * - The places for running jobs and for jobs of a day. Each is a key of the store that one job holds. A counter in this document would
 *   serialize all submissions of a client.
 * - Who may submit, and how much: that is the operator's setting. Rates are counted in one process and may be lost.
 * - Secrets (read tokens, webhook secrets): they are derived from the ICL's secret and stored nowhere.
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

/** How long after its first accepted job a client is new: a new wallet costs nothing, but time does. */
const newcomerMs = 7 * dayMs

/** The client after one of its jobs was accepted at `at`. Returns the same object when an earlier acceptance is known. */
export const withAccepted = (client: Client | undefined, address: Address, at: number): Client =>
  client && client.firstAcceptedAt <= at ? client : { address, firstAcceptedAt: at }

/** Returns whose allowance the client's jobs use at `now`: its own, or the one that all newcomers share. */
export const allowanceOf = (client: Client | undefined, now: number): AllowanceHolder =>
  client && now - client.firstAcceptedAt >= newcomerMs ? client.address : 'newcomers'
