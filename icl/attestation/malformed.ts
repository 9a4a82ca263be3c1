import { ProblemError } from '../../lib/problem.ts'
import { TpmFormatError } from '../../lib/tpm/bytes.ts'

/** Runs `read` on a caller's bytes. Throws ProblemError `attestation-malformed` for bytes that are no TPM structure. */
export function asEvidence<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw malformed(error)
  }
}

/** The asynchronous form of `asEvidence`. */
export async function asEvidenceLater<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw malformed(error)
  }
}

/** Turns a TpmFormatError into ProblemError `attestation-malformed`. Returns every other error as it is. */
export const malformed = (error: unknown): unknown =>
  error instanceof TpmFormatError ? new ProblemError('attestation-malformed', error.message) : error
