import { remedyFor } from '../../lib/causes.ts'
import { type Clock, elapsedSince } from '../../lib/clock.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { errorMessage } from '../../lib/error-message.ts'
import type { Fetch } from '../../lib/outgoing.ts'
import type { TeacherApi } from '../../lib/providers.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Log } from '../log.ts'
import { askedWaitMsOf } from './asked-wait.ts'
import type { Completion } from './provider.ts'
import { networkCodeIn, type ProviderCode, ProviderFault } from './provider-fault.ts'
import { failureIn } from './provider-report.ts'
import type { Reading } from './read-answer.ts'

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
  /** The limit for one try without a lease, the answer included. */
  readonly attemptMs?: number
  /** The longest silence within an answer that has begun. */
  readonly silenceMs?: number
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

/** A failed try. */
type Failure = {
  readonly code: ProviderCode
  /** What follows the provider's name in a message. It does not quote the prompt. */
  readonly said: string
  /** Everything that is said of it, for DEBUG. It may quote the prompt. */
  readonly words: string
  readonly askedWaitMs?: number | undefined
  readonly isPaid?: boolean
  /** What the operator can do, if it is not what the code stands for. */
  readonly remedy?: string | undefined
}

// In a lease the node tries once. What fails goes back to the ICL, which asks another node first, and this one holds no slot.
const triesOfTrial = 3
const longestWaitMs = 30_000
// A try ends before the lease, so that the error names the silent provider and not the lease.
const untilLeaseEndsMs = 500
const maxBackoffMs = 10_000
const maxShownCharacters = 300

type Call<T> = (reading: Reading) => Promise<T>

/**
 * Calls a provider: once in a lease, which the answer may use up, and up to 3 times without one, each as late as the provider asks, unless
 * it refuses permanently. Throws ProviderError `provider-...` that names the base URL (spec 7).
 */
export async function callProvider<T>(
  options: ProviderOptions,
  { model, signal, leftMs, mayCall }: Omit<Completion, 'prompt' | 'maxOutputTokens'>,
  call: Call<T>,
): Promise<T> {
  const { name, apiKey, clock, firstBackoffMs = 1_000 } = options
  const begun = clock.monotonic()
  let last: ProviderError | undefined
  for (let attempt = 1; ; attempt++) {
    if (mayCall?.() === false) throw last ?? toSvcError(model, options, usedUp, { attempt, ms: 0 })
    const outcome = await tryOnce(options, { signal, leftMs }, call)
    if ('answer' in outcome) return outcome.answer
    const { failure } = outcome
    const words = apiKey ? failure.words.replaceAll(apiKey, '[key]') : failure.words
    options.log.debug(`Provider ${name} failed: ${words.slice(0, maxShownCharacters)}`)
    const spent = { attempt, ms: elapsedSince(clock, begun) }
    const error = toSvcError(model, options, failure, spent)
    const backoffMs = Math.min(firstBackoffMs * 2 ** (attempt - 1), maxBackoffMs)
    const waitMs = Math.max(backoffMs, failure.askedWaitMs ?? 0)
    const isLast = leftMs !== undefined || attempt === triesOfTrial || waitMs > longestWaitMs
    if (!error.retryable || isLast) throw error
    last = error
    await clock.sleep(waitMs, signal)
  }
}

async function tryOnce<T>(
  options: ProviderOptions,
  { signal, leftMs }: Pick<Completion, 'signal' | 'leftMs'>,
  call: Call<T>,
): Promise<{ readonly answer: T } | { readonly failure: Failure }> {
  const { clock, attemptMs = 100_000, silenceMs = 60_000 } = options
  const begun = clock.monotonic()
  let lastHeard: typeof begun | undefined
  const heard = () => {
    lastHeard = clock.monotonic()
  }
  const tryMs = () => {
    const allowed = leftMs ? leftMs() - untilLeaseEndsMs : attemptMs - elapsedSince(clock, begun)
    const quietMs = lastHeard === undefined ? 0 : elapsedSince(clock, lastHeard)
    return Math.min(allowed, silenceMs - quietMs)
  }
  const late = () => new ProviderFault('provider-silent', 'gave no whole answer')
  try {
    const body = (ended: AbortSignal) => call({ signal: ended, heard })
    return { answer: await withDeadline(clock, tryMs, signal, late, body) }
  } catch (error) {
    signal?.throwIfAborted()
    return { failure: failureOf(error, options) }
  }
}

const usedUp: Failure = {
  code: 'provider-unavailable',
  said: 'has failed this job as often as the node asks it for one',
  words: 'The requests of the job are used up',
}

const passing: readonly ProviderCode[] = [
  'provider-rate-limited',
  'provider-unreachable',
  'provider-unavailable',
  'provider-silent',
  'provider-protocol-wrong',
]

function toSvcError(
  model: string,
  { name, baseUrl, keyVariable }: ProviderOptions,
  { code, said, isPaid, remedy, askedWaitMs }: Failure,
  spent: { readonly attempt: number; readonly ms: number },
): ProviderError {
  const length = code === 'provider-silent' ? within(spent) : ''
  return new ProviderError(code, `provider ${name} at ${baseUrl} ${said}${length}`, {
    hint: remedy ?? remedyFor('node operator', code, `${name}:${model}`, keyVariable),
    retryable: passing.includes(code) && isPaid !== true,
    askedWaitMs,
  })
}

const within = ({ attempt, ms }: { readonly attempt: number; readonly ms: number }): string =>
  ` within ${Math.round(ms / 1000)} s${attempt === 1 ? '' : ` and ${attempt} tries`}`

function failureOf(error: unknown, { apiKey, clock }: ProviderOptions): Failure {
  const failure = failureIn(error)
  if (failure instanceof ProviderFault) {
    const { code, message, isPaid, remedy } = failure
    return { code, said: message, words: message, isPaid, remedy }
  }
  if (failure === undefined) {
    const said = `failed: no connection, or it broke${named(networkCodeIn(error), apiKey)}`
    return { code: 'provider-unreachable', said, words: errorMessage(error) }
  }
  const { code, status, kind, words } = failure
  const askedWaitMs = askedWaitMsOf(failure, clock.now())
  const said = `failed: status ${status}${named(kind, apiKey)}${askedWait(askedWaitMs)}`
  return { code, said, words, askedWaitMs }
}

/** A name that may be logged above DEBUG. It must not quote the prompt. */
function named(name: string | undefined, apiKey: string | undefined): string {
  const isName = name !== undefined && /^[\w.-]{1,64}$/.test(name)
  return isName && !(apiKey && name.includes(apiKey)) ? ` (${name})` : ''
}

const askedWait = (ms: number | undefined): string =>
  ms === undefined ? '' : `, asks to wait ${Math.ceil(ms / 1000)} s`
