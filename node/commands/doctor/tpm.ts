import type { Address } from '../../../lib/codecs.ts'
import type { Check } from '../../../lib/host/checks.ts'
import { checking, failed, ok, skipped } from '../../../lib/host/checks.ts'
import { tpmOptionsOf } from '../../attestation/attestor.ts'
import { tpmOfCertificate } from '../../attestation/certificate-claims.ts'
import { readRecord } from '../../attestation/record.ts'
import { inspectTpm, tpmText } from '../../attestation/tpm/inspect-tpm.ts'
import type { LoadedConfig } from '../../config-file.ts'
import type { CommandContext } from '../context.ts'

const name = 'tpm'

/** Checks that the TPM can attest, if the node needs one, and that it is the enrolled one. */
export const checkTpm = (
  loaded: LoadedConfig,
  address: Address | undefined,
  context: Pick<CommandContext, 'clock' | 'random'>,
): Promise<Check> =>
  checking(name, async () => {
    const { attestation_backend: backend } = loaded.config
    if (backend !== 'tpm') return skipped(name, `not needed: the backend is ${backend}`)
    if (address === undefined) return skipped(name, 'needs the keystore')
    const options = tpmOptionsOf(loaded, context)
    const found = await inspectTpm(options, address, new AbortController().signal)
    const icl = new URL(loaded.config.icl_endpoint).origin
    const record = await readRecord(loaded.attestationPath, { address, icl })
    const enrolled = record && tpmOfCertificate(record.certificate)
    if (enrolled && enrolled.ek !== found.ek) {
      const detail = `${options.device.name} is another TPM than the one that was enrolled (${enrolled.ek.slice(0, 16)}...)`
      return failed(name, detail, 'Run `svc-node attest` to enrol this one.')
    }
    const starts = `start ${found.resetCount}, resume ${found.restartCount}`
    return ok(
      name,
      `${options.device.name}: ${tpmText(found)}, certified; makes quotes (${starts})`,
    )
  })
