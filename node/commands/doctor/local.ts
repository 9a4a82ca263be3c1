import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { unixSeconds } from '../../../lib/clock.ts'
import type { Address } from '../../../lib/codecs.ts'
import { withDeadline } from '../../../lib/deadline.ts'
import type { Check } from '../../../lib/host/checks.ts'
import { checking, failed, failedBy, ok, skipped } from '../../../lib/host/checks.ts'
import { keystoreAddress } from '../../../lib/host/keystore.ts'
import { exposedMode } from '../../../lib/host/private-files.ts'
import { tpmOptionsOf } from '../../attestation/attestor.ts'
import { tpmOfCertificate } from '../../attestation/certificate-claims.ts'
import { readRecord } from '../../attestation/record.ts'
import { inspectTpm, tpmText } from '../../attestation/tpm/inspect-tpm.ts'
import type { LoadedConfig } from '../../config-file.ts'
import { checkDisk } from '../../journal/check-disk.ts'
import { checkJournal as checkJournalAt, journalPathOf } from '../../journal/read-journal.ts'
import { openWallet } from '../../wallet.ts'
import { durationText } from '../amounts.ts'
import type { CommandContext } from '../context.ts'

const fheMs = 120_000

/** Checks that the keystore exists and only its owner can read it. Returns the address that it names. */
export async function checkKeystore({
  keystorePath,
}: LoadedConfig): Promise<{ readonly check: Check; readonly address?: Address }> {
  const name = 'keystore'
  try {
    const address = await keystoreAddress(keystorePath)
    const exposed = exposedMode(await stat(keystorePath))
    const named = address === undefined ? {} : { address }
    if (exposed !== undefined) {
      const remedy = `chmod 600 ${keystorePath}`
      return { check: failed(name, `others may read it (mode ${exposed})`, remedy), ...named }
    }
    return { check: ok(name, `${keystorePath}, ${address ?? 'names no address'}`), ...named }
  } catch (error) {
    return { check: failedBy(name, error) }
  }
}

/** Checks that files can be written in the journal's folder. */
export const checkFolder = ({ configPath }: LoadedConfig): Promise<Check> =>
  checking('disk', async () => {
    const folder = dirname(configPath)
    await checkDisk(folder)
    return ok('disk', `${folder} takes files`)
  })

/** Checks that the journal is not damaged. It keeps the node from signing twice. */
export const checkJournal = ({ configPath }: LoadedConfig): Promise<Check> =>
  checking('journal', async () => {
    const path = journalPathOf(configPath)
    checkJournalAt(path)
    return ok('journal', path)
  })

/** Checks that the password opens the keystore. */
export const checkPassword = (loaded: LoadedConfig, context: CommandContext): Promise<Check> =>
  checking('password', async () => {
    // The check of the keystore says so if others may read it.
    const { address } = await openWallet(loaded, { ...context, warn: () => {} })
    return ok('password', `opens the keystore of ${address}`)
  })

/** Checks that the node was attested with this ICL. */
export const checkCertificate = (
  { config, attestationPath }: LoadedConfig,
  address: Address | undefined,
  { clock }: CommandContext,
): Promise<Check> =>
  checking('certificate', async () => {
    const name = 'certificate'
    if (address === undefined) return skipped(name, 'needs the keystore')
    const icl = new URL(config.icl_endpoint).origin
    const record = await readRecord(attestationPath, { address, icl })
    if (record === undefined) {
      const remedy = 'Run `svc-node attest`.'
      return failed(name, 'this wallet was never attested with this ICL', remedy)
    }
    const left = record.expires_at - unixSeconds(clock)
    if (left <= 0) return ok(name, 'expired. `svc-node run` attests again by itself')
    return ok(name, `${record.backend}, valid for ${durationText(left)}`)
  })

/** Checks the FHE code of this executable, in a worker as for a proof. */
export const checkFhe = ({ clock }: Pick<CommandContext, 'clock'>): Promise<Check> =>
  checking('fhe', async () => {
    const { checkEmbedded } = await import('../../../lib/host/coprocessor/prove.ts')
    const late = () => new Error(`the FHE worker gave no answer within ${fheMs / 1000} s`)
    await withDeadline(clock, fheMs, undefined, late, checkEmbedded)
    return ok('fhe', 'encrypts and decrypts in its worker')
  })

/** Checks that the TPM can attest, if the node needs one, and that it is the enrolled one. */
export const checkTpm = (
  loaded: LoadedConfig,
  address: Address | undefined,
  context: Pick<CommandContext, 'clock' | 'random'>,
): Promise<Check> =>
  checking('tpm', async () => {
    const name = 'tpm'
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
