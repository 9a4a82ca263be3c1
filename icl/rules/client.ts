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
