import { SvcError } from '../../svc-error.ts'
import { inProofProcess, ProofProcessDied, ProofWorkFailed } from './proof-child.ts'
import type { Work } from './proof-work.ts'

const sampleValues = [0x0123_4567_89ab_cdef_0123_4567_89ab_cdefn, (1n << 128n) - 1n]

const failed = (why: string, cause?: unknown): SvcError =>
  new SvcError('coprocessor-encrypt-failed', `CoFHE encrypt failed: ${why}`, {
    hint: 'Run `svc-node self-check`. If it fails, download the executable again.',
    cause,
  })

const doing = <Kind extends keyof Work>(
  kind: Kind,
  input: Work[Kind]['input'],
  signal: AbortSignal,
): Promise<Work[Kind]['output']> =>
  inProofProcess(kind, input, signal).catch((error: unknown) => {
    const isOurs = error instanceof ProofWorkFailed || error instanceof ProofProcessDied
    throw isOurs ? failed(error.message, error) : error
  })

/** Checks that a proof process and the FHE code in it work in this executable (0.3 s); throws SvcError `coprocessor-encrypt-failed`. */
export const checkEmbedded = async (signal: AbortSignal): Promise<void> => {
  checkSame(await doing('roundTrip', sampleValues, signal))
}

/** Makes a proof as for the coprocessor, with fresh keys, then verifies and opens it (over a minute). Returns its size in bytes. */
export const checkProof = async (signal: AbortSignal): Promise<number> => {
  const keys = await doing('makeSampleKeys', null, signal)
  const metadata = new TextEncoder().encode('self-check')
  const { publicKey, crs } = keys
  const input = { publicKey, crs, values: sampleValues, metadata }
  const proof = await doing('prove', input, signal)
  checkSame(await doing('open', { ...keys, proof, metadata }, signal))
  return proof.length
}

const checkSame = (opened: readonly bigint[]): void => {
  const isSame = opened.length === sampleValues.length
  if (isSame && opened.every((value, index) => value === sampleValues[index])) return
  throw failed('values that were encrypted did not decrypt to themselves')
}
