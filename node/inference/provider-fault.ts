import type { AbortReason } from '../../lib/schemas/jobs.ts'

/** A provider's answer is wrong, or the provider does not take a part of the prompt. `said` quotes neither. */
export class ProviderFault extends Error {
  readonly code: Extract<AbortReason, `provider-${string}` | 'prompt-not-supported'>

  constructor(code: ProviderFault['code'], said: string) {
    super(said)
    this.code = code
  }
}

/** Returns the fault within an SDK's error, which wraps what its fetch throws. */
export function faultIn(error: unknown): ProviderFault | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 8; depth++) {
    if (cause instanceof ProviderFault) return cause
    cause = cause.cause
  }
  return undefined
}
