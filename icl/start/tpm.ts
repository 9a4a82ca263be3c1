import { errorMessage } from '../../lib/error-message.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { PcrPolicy } from '../attestation/pcr-policy.ts'
import type { TpmTrust } from '../attestation/tpm-trust.ts'
import { type Certificate, readPemCertificates } from '../attestation/x509.ts'
import { type ReadText, textOf } from './deployment-settings.ts'
import type { Settings } from './settings.ts'

/** The TPMs that the settings trust; undefined when they name no roots. Reads the files. Throws SvcError `settings-invalid`. */
export function tpmTrustOf(settings: Settings, readText: ReadText): TpmTrust | undefined {
  const { SVC_ICL_TPM_ROOTS: rootFiles, SVC_ICL_TIERS: tiers } = settings
  if (rootFiles === undefined) {
    const useless = ['SVC_ICL_TPM_MODELS', 'SVC_ICL_TPM_POLICY'] as const
    const given = useless.find((name) => settings[name] !== undefined)
    if (given) throw unusable(given, 'means nothing without SVC_ICL_TPM_ROOTS')
    return undefined
  }
  const policy = policyOf(settings.SVC_ICL_TPM_POLICY, readText)
  return {
    roots: rootFiles.flatMap((file) => rootsIn(file, readText)),
    models: settings.SVC_ICL_TPM_MODELS,
    policy,
    highestTier: Math.min(tiers.tpm, policy.tier ?? tiers.tpm),
  }
}

/** The endorsement key hashes and attestation key names (hex) in the revocation file, one a line. Throws SvcError `settings-invalid`. */
export function revokedTpmsOf(settings: Settings, readText: ReadText): ReadonlySet<string> {
  const name = 'SVC_ICL_TPM_REVOKED'
  const file = settings[name]
  if (file === undefined) return new Set()
  const revoked = new Set<string>()
  for (const [index, line] of textOf(name, file, readText, hint).split('\n').entries()) {
    const entry = line.replace(/#.*/, '').trim().replace(/^0x/, '').toLowerCase()
    if (entry === '') continue
    // A hash has 32 bytes. A name has two bytes before its hash, which has 32 or 48.
    if (!/^([0-9a-f]{64}|[0-9a-f]{68}|[0-9a-f]{100})$/.test(entry)) {
      throw unusable(
        name,
        `has no endorsement key hash or attestation key name in line ${index + 1}`,
      )
    }
    revoked.add(entry)
  }
  return revoked
}

function rootsIn(file: string, readText: ReadText): readonly Certificate[] {
  const name = 'SVC_ICL_TPM_ROOTS'
  const text = textOf(name, file, readText, hint)
  let roots: readonly Certificate[]
  try {
    roots = readPemCertificates(text)
  } catch (error) {
    throw unusable(name, `${file}: ${errorMessage(error)}`)
  }
  if (roots.length === 0) throw unusable(name, `${file} has no PEM certificate`)
  return roots
}

function policyOf(file: string | undefined, readText: ReadText): PcrPolicy {
  const name = 'SVC_ICL_TPM_POLICY'
  if (file === undefined) return PcrPolicy.parse({})
  const content = parseJson(textOf(name, file, readText, hint))
  if (content === undefined) throw unusable(name, `${file} is not JSON`)
  const parsed = PcrPolicy.safeParse(content)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw unusable(name, `${file}: ${[...(issue?.path ?? []), ''].join(' ')}${issue?.message}`)
}

const hint = 'docs/operations.md shows what it has to be.'
const unusable = (name: string, why: string): SvcError =>
  new SvcError('settings-invalid', `${name} is not usable: ${why}`, { hint })
