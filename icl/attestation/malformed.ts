import { ProblemError } from '../../lib/problem.ts'
import { TpmFormatError } from '../../lib/tpm/bytes.ts'

/** Does what reads a caller's bytes; bytes that are no TPM structure become ProblemError `attestation-malformed`. */
export function asEvidence<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw malformed(error)
  }
}

/** The same for what takes its time. */
export async function asEvidenceLater<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw malformed(error)
  }
}

/** ProblemError `attestation-malformed` for what TpmFormatError says; every other error as it is. */
export const malformed = (error: unknown): unknown =>
  error instanceof TpmFormatError ? new ProblemError('attestation-malformed', error.message) : error
