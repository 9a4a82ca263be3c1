/** A TPM's counters: machine starts, resumes, and the milliseconds (decimal) that it was powered. */
export type TpmCounters = {
  readonly reset: number
  readonly restart: number
  readonly clock: string
}

/** The TPM that a node has enrolled; times in milliseconds. */
export type Enrollment = {
  /** SHA-256 of the endorsement key's modulus in hex: the machine's identity. */
  readonly ek: string
  /** The attestation key's name in hex. */
  readonly ak: string
  /** The attestation key (TPMT_PUBLIC, base64url): every quote is verified with it. */
  readonly akPublic: string
  readonly manufacturer: string
  readonly model: string
  /** SHA-256 in hex of the root certificate that the endorsement key leads to. */
  readonly root: string
  /** When the first certificate of that chain expires. */
  readonly validUntil: number
  /** The counters of the last quote; absent before the first. */
  readonly counters?: TpmCounters
}

/** True when counters went back. Clocks are compared only within one start and resume, because an unclean stop sets the clock back. */
export function isCountingBack(before: TpmCounters, after: TpmCounters): boolean {
  if (after.reset !== before.reset) return after.reset < before.reset
  if (after.restart !== before.restart) return after.restart < before.restart
  return BigInt(after.clock) < BigInt(before.clock)
}
