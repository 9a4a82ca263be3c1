import type { Clock } from '../../lib/clock.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { retryAfterMsOf } from '../../lib/retry-after.ts'
import type { ProviderFailure, ProviderOptions } from './provider-call.ts'
import { networkCodeIn } from './provider-fault.ts'
import { providerFetch } from './provider-fetch.ts'

/** The options that the SDKs of all vendors get. */
export const sdkOptions = ({ attemptMs = 100_000, fetch }: ProviderOptions) => ({
  maxRetries: 0,
  // callProvider ends a try. The SDK's own timer must not fire first.
  timeout: 2 * attemptMs,
  // Otherwise the SDK would log requests with prompts in them.
  logLevel: 'off' as const,
  fetch: providerFetch(fetch),
})

type SdkError = Error & {
  readonly status: number | undefined
  readonly headers: Headers | undefined
  readonly code?: string | null | undefined
  readonly type: string | null | undefined
}

/** Makes the function that reads the errors of an SDK, which have this class. */
export const failuresOf =
  (ApiError: abstract new (...given: never) => SdkError) =>
  (error: unknown, clock: Clock): ProviderFailure => {
    const words = errorMessage(error)
    if (!(error instanceof ApiError)) return { words }
    return {
      words,
      status: error.status,
      code: error.code ?? error.type ?? networkCodeIn(error.cause),
      retryAfterMs: askedWaitMsOf(error.headers, clock),
      isQuota: error.code === 'insufficient_quota',
    }
  }

/** Returns the milliseconds that a provider asks to wait, by Retry-After or by its `retry-after-ms`. */
function askedWaitMsOf(headers: Headers | undefined, clock: Clock): number | undefined {
  const ms = Number(headers?.get('retry-after-ms') ?? Number.NaN)
  return Number.isFinite(ms) && ms > 0 ? ms : retryAfterMsOf(headers, clock.now())
}
