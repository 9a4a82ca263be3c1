import type { Fetch } from '../../lib/api.ts'
import type { Clock } from '../../lib/clock.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { retryAfterMsOf } from '../../lib/retry-after.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Log } from '../log.ts'
import type { Completion, ProviderName } from './provider.ts'

/** How a provider is reached; times in milliseconds. */
export type ProviderOptions = {
  readonly apiKey: string
  readonly baseUrl?: string | undefined
  readonly clock: Clock
  readonly log: Pick<Log, 'debug'>
  /** How to reach it; the runtime's own by default. */
  readonly fetch?: Fetch
  /** For one try, answer included. */
  readonly attemptMs?: number
  readonly firstBackoffMs?: number
}

/** What an SDK's error says, without the SDK. */
export type ProviderFailure = {
  readonly status?: number | undefined
  /** The provider's own name for the kind of error. */
  readonly code?: string | null | undefined
  /** May quote the prompt. */
  readonly words: string
  readonly retryAfterMs?: number | undefined
  /** The account has no money left: no wait helps. */
  readonly isQuota?: boolean
}

/** The environment variable that holds a provider's key. */
export const keyVariables = {
  openai: 'OPENAI_API_KEY',
  anthropic: 'ANTHROPIC_API_KEY',
} as const satisfies Record<ProviderName, string>

const tries = 3
// While a lease lasts, a passing failure is worth more tries than a job given back.
const triesInLease = 8
const longestWaitMs = 30_000
// Too little for any answer.
const shortestAnswerMs = 3_000
const maxBackoffMs = 10_000
const maxShownCharacters = 300

/** Calls a provider until it answers, refuses for good, or no try could end before the lease does (without a lease: 3 tries); waits as long as Retry-After asks; throws SvcError `provider-...` (spec 7). */
export async function callProvider(
  name: ProviderName,
  options: ProviderOptions,
  { signal, endsAt }: Pick<Completion, 'signal' | 'endsAt'>,
  failureOf: (error: unknown, clock: Clock) => ProviderFailure,
  call: (signal: AbortSignal) => Promise<string | null | undefined>,
): Promise<string> {
  const { clock, attemptMs = 100_000, firstBackoffMs = 1_000 } = options
  for (let attempt = 1; ; attempt++) {
    let failure: ProviderFailure
    try {
      const late = () => new ProviderTimeout(`no answer within ${attemptMs / 1000} s`)
      const text = await withDeadline(clock, attemptMs, signal, late, call)
      if (typeof text === 'string' && text.trim() !== '') return text
      throw emptyAnswer(name)
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof SvcError) throw error
      failure = error instanceof ProviderTimeout ? silenceOf(error) : failureOf(error, clock)
    }
    const words = failure.words.replaceAll(options.apiKey, '[key]').slice(0, maxShownCharacters)
    options.log.debug(`Provider ${name} failed: ${words}`)
    const error = toSvcError(name, options.apiKey, failure)
    const backoffMs = Math.min(firstBackoffMs * 2 ** (attempt - 1), maxBackoffMs)
    const waitMs = Math.max(backoffMs, failure.retryAfterMs ?? 0)
    if (!error.retryable || !isWorthATry(clock, endsAt, attempt, waitMs)) throw error
    await clock.sleep(waitMs, signal)
  }
}

/** Whether another try after a wait can still be of use. */
function isWorthATry(
  clock: Clock,
  endsAt: number | undefined,
  attempts: number,
  waitMs: number,
): boolean {
  if (endsAt === undefined) return attempts < tries && waitMs <= longestWaitMs
  return attempts < triesInLease && clock.now() + waitMs + shortestAnswerMs <= endsAt
}

class ProviderTimeout extends Error {}

const silenceOf = ({ message }: ProviderTimeout): ProviderFailure => ({
  code: 'timeout',
  words: message,
})

const emptyAnswer = (name: ProviderName): SvcError =>
  new SvcError('provider-refused', `provider ${name} gave an empty answer`, {
    hint: 'The model may have refused the prompt, or spent its output tokens on thinking.',
  })

function toSvcError(name: ProviderName, apiKey: string, failure: ProviderFailure): SvcError {
  const message = `provider ${name} failed: ${kindOf(failure, apiKey)}${askedWait(failure)}`
  switch (failure.status) {
    case 401:
    case 403:
      return new SvcError('provider-key-refused', message, {
        hint: `Check ${keyVariables[name]}: the provider refuses this key.`,
      })
    case 404:
      return new SvcError('provider-model-unknown', message, {
        hint: 'Check supported_model_ids: the provider does not know this model.',
      })
    case 429:
      return new SvcError('provider-rate-limited', message, {
        hint: failure.isQuota
          ? 'Add credit to the provider account.'
          : 'Ask the provider for a higher rate limit, or lower max_concurrent_jobs.',
        retryable: failure.isQuota !== true,
      })
    default:
  }
  const { status } = failure
  if (status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 409) {
    return new SvcError('provider-refused', message, {
      hint: 'The provider does not take this request; the prompt may be too long for the model.',
    })
  }
  return new SvcError('provider-unavailable', message, {
    hint: 'The provider cannot be reached or fails; check its status and the base URL.',
    retryable: true,
  })
}

/** What may be said above DEBUG: nothing that could quote the prompt. */
function kindOf({ status, code }: ProviderFailure, apiKey: string): string {
  const isName = typeof code === 'string' && /^[\w.-]{1,64}$/.test(code) && !code.includes(apiKey)
  const said = status === undefined ? 'no answer that can be read' : `status ${status}`
  return isName ? `${said} (${code})` : said
}

const askedWait = ({ retryAfterMs }: ProviderFailure): string =>
  retryAfterMs === undefined ? '' : `, asks to wait ${Math.ceil(retryAfterMs / 1000)} s`

/** The system's name for why a connection failed, such as ECONNREFUSED. */
export const networkCodeOf = ({ cause }: Error): string | undefined =>
  cause instanceof Error && 'code' in cause && typeof cause.code === 'string'
    ? cause.code
    : undefined

/** Milliseconds that a provider asks to wait, by Retry-After or by its `retry-after-ms`. */
export function askedWaitMsOf(headers: Headers | undefined, clock: Clock): number | undefined {
  const ms = Number(headers?.get('retry-after-ms') ?? Number.NaN)
  return Number.isFinite(ms) && ms > 0 ? ms : retryAfterMsOf(headers, clock.now())
}

/** A fetch as the SDKs call it. */
export const sdkFetch =
  (fetch: Fetch) =>
  (input: string | URL | Request, init?: RequestInit): Promise<Response> =>
    fetch(new Request(input, init))

/** A base URL with `path` when it has none of its own. */
export function withDefaultPath(baseUrl: string, path: string): string {
  const url = new URL(baseUrl)
  return url.pathname === '/' ? `${url.origin}${path}` : baseUrl
}
