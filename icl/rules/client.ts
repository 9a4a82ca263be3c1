/*
 * The facts about one wallet that the ICL has learnt, that rules read, and that are neither on chain nor in another document.
 *
 * Kept elsewhere, on purpose: what belongs to one job or key. The places for running jobs and for jobs of a day, which are keys
 * of the store, because a counter here would serialize all submissions of a client. The operator's settings, and rates, which
 * one process counts and may lose. Secrets, which are derived from the ICL's secret and stored nowhere.
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
