/** What a TPM counts: machine starts, resumes, and milliseconds (decimal) that it was powered. */
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
  /** When a certificate of that chain ends. */
  readonly validUntil: number
  /** Those of the last quote; none before the first. */
  readonly counters?: TpmCounters
}

/** True when a TPM counts less than it did: the clock is ordered only between quotes of one start, because an unclean stop sets it back. */
export function isCountingBack(before: TpmCounters, after: TpmCounters): boolean {
  if (after.reset !== before.reset) return after.reset < before.reset
  if (after.restart !== before.restart) return after.restart < before.restart
  return BigInt(after.clock) < BigInt(before.clock)
}
