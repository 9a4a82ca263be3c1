import type { AbortReason } from '../../lib/schemas/jobs.ts'

/** What is wrong with a provider's answer itself, or what of a prompt it cannot take; `said` quotes nothing of either. */
export class ProviderFault extends Error {
  readonly code: Extract<AbortReason, `provider-${string}` | 'prompt-not-supported'>

  constructor(code: ProviderFault['code'], said: string) {
    super(said)
    this.code = code
  }
}

/** The fault in an error of an SDK, which wraps what its fetch throws. */
export function faultIn(error: unknown): ProviderFault | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 8; depth++) {
    if (cause instanceof ProviderFault) return cause
    cause = cause.cause
  }
  return undefined
}
