import type { AbortReason } from '../../lib/schemas/jobs.ts'

/** The codes of this kind of failure, which are abort reasons. */
export type ProviderCode = Extract<AbortReason, `provider-${string}` | 'prompt-not-supported'>

/** A provider's answer is wrong, or the provider does not take a part of the prompt. `said` quotes neither. */
export class ProviderFault extends Error {
  readonly code: ProviderCode
  /** The model has answered, which is paid for: asking again would pay for the same once more. */
  readonly isPaid: boolean
  /** What the operator can do, if it is not what the code stands for. */
  readonly remedy: string | undefined

  constructor(
    code: ProviderCode,
    said: string,
    { isPaid = false, remedy }: { readonly isPaid?: boolean; readonly remedy?: string } = {},
  ) {
    super(said)
    this.code = code
    this.isPaid = isPaid
    this.remedy = remedy
  }
}

/** Returns an error and its causes, from the outermost on. */
export const causesOf = (error: unknown, most = 8): readonly Error[] =>
  error instanceof Error && most > 0 ? [error, ...causesOf(error.cause, most - 1)] : []

/** Returns the system's code for a failed connection, such as ECONNREFUSED. Empty without one. */
export function networkCodeIn(error: unknown): string {
  const codes = causesOf(error).map((cause) => ('code' in cause ? cause.code : undefined))
  return codes.find((code) => typeof code === 'string') ?? ''
}
