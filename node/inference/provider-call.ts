import { remedyFor } from '../../lib/causes.ts'
import { type Clock, elapsedSince } from '../../lib/clock.ts'
import { withDeadline } from '../../lib/deadline.ts'
import type { Fetch } from '../../lib/outgoing.ts'
import type { TeacherApi } from '../../lib/providers.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Log } from '../log.ts'
import type { Completion } from './provider.ts'
import { faultIn, ProviderFault } from './provider-fault.ts'

/** How to reach a provider. Times are milliseconds. */
export type ProviderOptions = {
  /** The name in model ids and in messages. */
  readonly name: string
  /** The root of its API, without a slash at the end. */
  readonly baseUrl: string
  /** Undefined for a server that takes no key. */
  readonly apiKey: string | undefined
  /** The environment variable of the key, for messages. */
  readonly keyVariable: string
  readonly clock: Clock
  readonly log: Pick<Log, 'debug'>
  /** The API that returns log-probabilities of a given text, undefined if it has none. */
  readonly teacher?: TeacherApi | undefined
  /** The fetch to use, the runtime's own by default. */
  readonly fetch?: Fetch
  /** The limit for one try, the answer included. */
  readonly attemptMs?: number
  readonly firstBackoffMs?: number
}

/** Where a provider's API is, and its key. */
export type Reached = Pick<ProviderOptions, 'apiKey' | 'baseUrl'> & Partial<ProviderOptions>

/** Why a provider gave no answer. */
export class ProviderError extends SvcError {
  /** The milliseconds that the provider asks to wait. */
  readonly askedWaitMs: number | undefined

  constructor(
    code: string,
    message: string,
    options: ConstructorParameters<typeof SvcError>[2] & { askedWaitMs: number | undefined },
  ) {
    super(code, message, options)
    this.askedWaitMs = options.askedWaitMs
  }
}

/** The content of an SDK's error, independent of the SDK. */
export type ProviderFailure = {
  readonly status?: number | undefined
  /** What is wrong with the answer itself. If set, no other field counts. */
  readonly fault?: ProviderFault | undefined
  /** The provider's own name for the kind of error. */
  readonly code?: string | null | undefined
  /** The message, which may quote the prompt. */
  readonly words: string
  readonly retryAfterMs?: number | undefined
  /** The account has no money left, so waiting does not help. */
  readonly isQuota?: boolean
}

const tries = 3
// While a lease lasts, more tries are cheaper than giving the job back.
const triesInLease = 8
const longestWaitMs = 30_000
// No answer comes in less.
const shortestAnswerMs = 3_000
// A try ends before the lease, so that the error names the silent provider and not the lease.
const untilLeaseEndsMs = 500
const maxBackoffMs = 10_000
const maxShownCharacters = 300

type Call<T> = (signal: AbortSignal) => Promise<T>
type FailureOf = (error: unknown, clock: Clock) => ProviderFailure

/**
 * Calls a provider until it answers, refuses permanently, or no further try could end before the lease does (without a lease: 3 tries).
 * Waits as long as Retry-After asks. Throws ProviderError `provider-...` that names the base URL (spec 7).
 */
export async function callProvider<T>(
  options: ProviderOptions,
  { model, signal, leftMs, mayCall, onFailedTry }: Omit<Completion, 'prompt' | 'maxOutputTokens'>,
  failureOf: FailureOf,
  call: Call<T>,
): Promise<T> {
  const { name, apiKey, clock, firstBackoffMs = 1_000 } = options
  const begun = clock.monotonic()
  mayCall?.()
  for (let attempt = 1; ; attempt++) {
    const outcome = await tryOnce(options, { signal, leftMs }, failureOf, call)
    if ('answer' in outcome) return outcome.answer
    const { failure } = outcome
    const words = apiKey ? failure.words.replaceAll(apiKey, '[key]') : failure.words
    options.log.debug(`Provider ${name} failed: ${words.slice(0, maxShownCharacters)}`)
    const spent = { attempt, ms: elapsedSince(clock, begun) }
    const error = toSvcError(model, options, failure, spent)
    const backoffMs = Math.min(firstBackoffMs * 2 ** (attempt - 1), maxBackoffMs)
    const waitMs = Math.max(backoffMs, failure.retryAfterMs ?? 0)
    if (!error.retryable || !isWorthATry(leftMs, attempt, waitMs)) throw error
    if (mayCall?.() === false) throw error
    onFailedTry?.(error.message, waitMs)
    await clock.sleep(waitMs, signal)
  }
}

async function tryOnce<T>(
  { clock, attemptMs = 100_000 }: ProviderOptions,
  { signal, leftMs }: Pick<Completion, 'signal' | 'leftMs'>,
  failureOf: FailureOf,
  call: Call<T>,
): Promise<{ readonly answer: T } | { readonly failure: ProviderFailure }> {
  const begun = clock.monotonic()
  const tryMs = () => {
    const ofLeaseMs = leftMs === undefined ? attemptMs : leftMs() - untilLeaseEndsMs
    return Math.min(attemptMs - elapsedSince(clock, begun), ofLeaseMs)
  }
  const late = () => new ProviderFault('provider-silent', 'gave no whole answer')
  try {
    return { answer: await withDeadline(clock, tryMs, signal, late, call) }
  } catch (error) {
    signal?.throwIfAborted()
    const fault = faultIn(error)
    return { failure: fault ? { fault, words: fault.message } : failureOf(error, clock) }
  }
}

/** Whether another try after the wait can still succeed. */
function isWorthATry(leftMs: Completion['leftMs'], attempts: number, waitMs: number): boolean {
  if (leftMs === undefined) return attempts < tries && waitMs <= longestWaitMs
  return attempts < triesInLease && waitMs + shortestAnswerMs <= leftMs()
}

type ProviderCode = ProviderFault['code']

const passing: readonly ProviderCode[] = [
  'provider-rate-limited',
  'provider-unreachable',
  'provider-unavailable',
  'provider-silent',
  'provider-protocol-wrong',
]

function toSvcError(
  model: string,
  { name, apiKey, baseUrl, keyVariable }: ProviderOptions,
  failure: ProviderFailure,
  spent: { readonly attempt: number; readonly ms: number },
): ProviderError {
  const code = codeOf(failure)
  const said = failure.fault
    ? `${failure.fault.message}${code === 'provider-silent' ? within(spent) : ''}`
    : `failed: ${kindOf(failure, apiKey)}${askedWait(failure)}`
  return new ProviderError(code, `provider ${name} at ${baseUrl} ${said}`, {
    hint:
      failure.fault?.remedy ?? remedyFor('node operator', code, `${name}:${model}`, keyVariable),
    retryable: passing.includes(code) && failure.fault?.isPaid !== true,
    askedWaitMs: failure.retryAfterMs,
  })
}

function codeOf({ fault, status, isQuota }: ProviderFailure): ProviderCode {
  if (fault !== undefined) return fault.code
  if (status === undefined) return 'provider-unreachable'
  if (status === 402 || isQuota) return 'provider-quota-used-up'
  if (status === 401 || status === 403) return 'provider-key-refused'
  if (status === 404) return 'provider-model-unknown'
  if (status === 429) return 'provider-rate-limited'
  const isRefusal = status >= 400 && status < 500 && status !== 408 && status !== 409
  return isRefusal ? 'provider-refused' : 'provider-unavailable'
}

const within = ({ attempt, ms }: { readonly attempt: number; readonly ms: number }): string =>
  ` within ${Math.round(ms / 1000)} s${attempt === 1 ? '' : ` and ${attempt} tries`}`

/** The part of a failure that may be logged above DEBUG. It must not quote the prompt. */
function kindOf({ status, code }: ProviderFailure, apiKey: string | undefined): string {
  const isName =
    typeof code === 'string' &&
    /^[\w.-]{1,64}$/.test(code) &&
    !(apiKey !== undefined && code.includes(apiKey))
  const said = status === undefined ? 'no connection, or it broke' : `status ${status}`
  return isName ? `${said} (${code})` : said
}

const askedWait = ({ retryAfterMs }: ProviderFailure): string =>
  retryAfterMs === undefined ? '' : `, asks to wait ${Math.ceil(retryAfterMs / 1000)} s`
