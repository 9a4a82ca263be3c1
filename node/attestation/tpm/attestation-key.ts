import type { Address } from '../../../lib/codecs.ts'
import { flushing } from './contexts.ts'
import { createPrimaryKey, type TpmKey } from './primary-keys.ts'
import { kindOf, responseCode, TpmRefusedError } from './response-code.ts'
import { attestationKeyTemplate, rsaAttestationKeyTemplate } from './templates.ts'
import type { Tpm } from './tpm-command.ts'

const { curve, type, scheme, asymmetric } = responseCode
const unknownAlgorithm: readonly number[] = [curve, type, scheme, asymmetric]

/** Runs `work` with an address's attestation key: restricted, and the same every time, though it is not stored. */
export async function withAttestationKey<T>(
  tpm: Tpm,
  address: Address,
  work: (key: TpmKey) => Promise<T>,
): Promise<T> {
  const key = await createKey(tpm, address)
  return await flushing(tpm, key.handle, () => work(key))
}

async function createKey(tpm: Tpm, address: Address): Promise<TpmKey> {
  try {
    return await createPrimaryKey(tpm, attestationKeyTemplate(address))
  } catch (error) {
    const isUnknown =
      error instanceof TpmRefusedError && unknownAlgorithm.includes(kindOf(error.responseCode))
    if (!isUnknown) throw error
    return await createPrimaryKey(tpm, rsaAttestationKeyTemplate(address))
  }
}
