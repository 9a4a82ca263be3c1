import type { Clock } from '../../lib/clock.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Log } from '../log.ts'
import type { ProviderName } from './provider.ts'

/** How a provider is reached; times in milliseconds. */
export type ProviderOptions = {
  readonly apiKey: string
  readonly baseUrl?: string | undefined
  readonly clock: Clock
  readonly log: Pick<Log, 'debug'>
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
const maxBackoffMs = 10_000
const maxShownCharacters = 300

/** Calls a provider until it answers, refuses for good, or has been tried 3 times; throws SvcError `provider-...` (spec 7). */
export async function callProvider(
  name: ProviderName,
  options: ProviderOptions,
  signal: AbortSignal | undefined,
  failureOf: (error: unknown) => ProviderFailure,
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
      failure = error instanceof ProviderTimeout ? silenceOf(error) : failureOf(error)
    }
    const words = failure.words.replaceAll(options.apiKey, '[key]').slice(0, maxShownCharacters)
    options.log.debug(`Provider ${name} failed: ${words}`)
    const error = toSvcError(name, options.apiKey, failure)
    if (!error.retryable || attempt >= tries) throw error
    const backoffMs = Math.min(firstBackoffMs * 2 ** (attempt - 1), maxBackoffMs)
    await clock.sleep(Math.max(backoffMs, Math.min(failure.retryAfterMs ?? 0, 30_000)), signal)
  }
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
  const message = `provider ${name} failed: ${kindOf(failure, apiKey)}`
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

/** The system's name for why a connection failed, such as ECONNREFUSED. */
export const networkCodeOf = ({ cause }: Error): string | undefined =>
  cause instanceof Error && 'code' in cause && typeof cause.code === 'string'
    ? cause.code
    : undefined

/** Milliseconds that a Retry-After header in seconds asks for. */
export function retryAfterMsOf(headers: Headers | undefined): number | undefined {
  const seconds = Number(headers?.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined
}

/** A base URL with `path` when it has none of its own. */
export function withDefaultPath(baseUrl: string, path: string): string {
  const url = new URL(baseUrl)
  return url.pathname === '/' ? `${url.origin}${path}` : baseUrl
}
