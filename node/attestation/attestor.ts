import { dirname, resolve } from 'node:path'
import { hexToBytes } from 'viem'
import { attestationDigest } from '../../lib/attestation.ts'
import type { Clock } from '../../lib/clock.ts'
import { hmacSha256, toBase64Url } from '../../lib/digest.ts'
import type { Random } from '../../lib/random.ts'
import type { AttestationBackend } from '../../lib/schemas/nodes.ts'
import type { LoadedConfig } from '../config-file.ts'
import { mockKeyMissing } from './mock-key.ts'
import type { Attestor } from './proof.ts'
import { findTpm } from './tpm/find-tpm.ts'
import type { TpmAttestorOptions } from './tpm/tpm.ts'
import { createTpmAttestor } from './tpm-attestor.ts'

/** The settings of the backends. */
export type AttestorSettings = {
  readonly mockKeyHex?: string | undefined
  readonly tpm?: TpmAttestorOptions | undefined
}

/** The part of the configuration about the TPM. File names are relative to its folder. */
export type TpmConfig = {
  readonly config: Pick<LoadedConfig['config'], 'tpm'> &
    Partial<Pick<LoadedConfig['config'], 'tpm_certificates'>>
  readonly configPath: string
}

/** Builds the TPM options of a configuration. Throws SvcError `tpm-unsupported` where no TPM can be used. */
export const tpmOptionsOf = (
  { config, configPath }: TpmConfig,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): TpmAttestorOptions => ({
  device: findTpm(config.tpm),
  clock,
  random,
  certificatesPath:
    config.tpm_certificates && resolve(dirname(configPath), config.tpm_certificates),
})

/** Makes the attestor of a backend. Throws SvcError when the configuration or this machine lacks what it needs. */
export function createAttestor(
  backend: AttestationBackend,
  { mockKeyHex, tpm }: AttestorSettings,
): Attestor {
  if (backend === 'tpm') return createTpmAttestor(tpm ?? missingTpm())
  if (mockKeyHex === undefined) throw mockKeyMissing()
  const mockKey = hexToBytes(`0x${mockKeyHex}`)
  return {
    backend,
    async prove({ challenge: { nonce }, origin, chainId, address, sessionPublicKey }) {
      const digest = await attestationDigest({
        ...{ origin, chainId, backend, address, nonce, sessionPublicKey },
        activationSecret: new Uint8Array(),
      })
      const hmac = await hmacSha256(mockKey, digest)
      return { nonce, digest, isEnrolment: false, evidence: { backend, hmac: toBase64Url(hmac) } }
    },
  }
}

const missingTpm = (): never => {
  throw new TypeError('The TPM backend was given no TPM')
}
