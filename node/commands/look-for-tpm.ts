import { explainError } from '../../lib/host/explain-error.ts'
import { type TpmConfig, tpmOptionsOf } from '../attestation/attestor.ts'
import { identifyTpm, tpmText } from '../attestation/tpm/inspect-tpm.ts'
import type { CommandContext } from './context.ts'

/** The TPM, or why there is none. */
export type FoundTpm = {
  readonly text: string
  readonly json:
    | { readonly device: string; readonly ek: string }
    | { readonly missing: string; readonly hint: string | undefined }
}

/** Looks for the TPM that the node would attest with. Does not throw when there is none. */
export async function lookForTpm(
  of: TpmConfig,
  context: Pick<CommandContext, 'clock' | 'random'>,
  signal = new AbortController().signal,
): Promise<FoundTpm> {
  try {
    const options = tpmOptionsOf(of, context)
    const found = await identifyTpm(options, signal)
    const { name } = options.device
    return { text: `${tpmText(found)} at ${name}`, json: { device: name, ek: found.ek } }
  } catch (error) {
    signal.throwIfAborted()
    const { message, hint } = explainError(error)
    return {
      text: hint === undefined ? message : `${message}. ${hint}`,
      json: { missing: message, hint },
    }
  }
}
