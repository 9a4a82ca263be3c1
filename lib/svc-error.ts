/** A failure that stays on this machine: what went wrong, what to do about it, and whether a retry can help. */
export class SvcError extends Error {
  override readonly name = 'SvcError'
  readonly code: string
  readonly hint: string
  readonly retryable: boolean

  constructor(
    code: string,
    message: string,
    options: { hint: string; retryable?: boolean; cause?: unknown },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.hint = options.hint
    this.retryable = options.retryable ?? false
  }
}
