import type { Clock } from '../../lib/clock.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { retryAfterMsOf } from '../../lib/retry-after.ts'
import type { ProviderFailure, ProviderOptions } from './provider-call.ts'
import { networkCodeIn } from './provider-fault.ts'
import { providerFetch } from './provider-fetch.ts'

/** The options that the SDKs of all vendors get. */
export const sdkOptions = ({ attemptMs = 100_000, fetch }: Partial<ProviderOptions>) => ({
  maxRetries: 0,
  // callProvider ends a try. The SDK's own timer must not fire first.
  timeout: 2 * attemptMs,
  // Otherwise the SDK would log requests with prompts in them.
  logLevel: 'off' as const,
  fetch: providerFetch(fetch),
})

/** The one header of the key. If left to the SDKs, `..._CUSTOM_HEADERS` of the environment would win over it. */
export const keyHeader = (apiKey: string | undefined) => ({
  authorization: apiKey === undefined ? null : `Bearer ${apiKey}`,
})

type SdkError = Error & {
  readonly status: number | undefined
  readonly headers: Headers | undefined
  readonly code?: string | null | undefined
  readonly type: string | null | undefined
  /** Anthropic's name of the cause, and its message. */
  readonly errorCode?: string | null
  readonly apiMessage?: string | null
}

/** What providers call an account without credit. Some send such an error with a status that says something else. */
const creditErrors = [
  'insufficient_quota',
  'exceeded_current_quota_error',
  'billing_not_active',
  'billing_hard_limit_reached',
  'contract_spend_limit_reached',
  'enforced_spend_limit_reached',
]
/** Anthropic calls it an invalid request (400). The message has no part of the prompt. */
const lowCredit = 'Your credit balance is too low'

const isQuota = ({ code, type, errorCode, apiMessage }: SdkError): boolean =>
  [code, type, errorCode].some((name) => creditErrors.includes(name ?? '')) ||
  apiMessage?.startsWith(lowCredit) === true

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
      isQuota: isQuota(error),
    }
  }

/** Returns the milliseconds that a provider asks to wait, by Retry-After or by its `retry-after-ms`. */
function askedWaitMsOf(headers: Headers | undefined, clock: Clock): number | undefined {
  const ms = Number(headers?.get('retry-after-ms') ?? Number.NaN)
  return Number.isFinite(ms) && ms > 0 ? ms : retryAfterMsOf(headers, clock.now())
}
