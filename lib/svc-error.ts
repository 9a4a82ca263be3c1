/** A failure that stays on this machine: what went wrong, what to do about it, and whether a retry can help. */
export class SvcError extends Error {
  // A bundler may rename the class, and consoles print this name.
  static override readonly name = 'SvcError'
  override readonly name = 'SvcError'
  readonly code: string
  readonly hint: string
  readonly retryable: boolean
  /** When a retry can help: the seconds to wait before, if that is known. */
  readonly retryAfterSeconds: number | undefined

  constructor(
    code: string,
    message: string,
    options: {
      hint: string
      retryable?: boolean
      retryAfterSeconds?: number | undefined
      cause?: unknown
    },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.hint = options.hint
    this.retryable = options.retryable ?? false
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

/** Throws unless something holds. */
export type Check = (holds: boolean, why: string) => asserts holds

/** Makes a check that throws SvcError with this code and hint, and a message that ends with what does not hold. */
export const checkerOf =
  (code: string, message: string, hint: string): Check =>
  (holds, why) => {
    if (!holds) throw new SvcError(code, `${message}: ${why}`, { hint })
  }
