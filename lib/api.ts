import { z } from 'zod'
import { remedyFor } from './causes.ts'
import { type Clock, elapsedSince } from './clock.ts'
import { longestRetrySeconds } from './codecs.ts'
import { withDeadline } from './deadline.ts'
import { type Endpoint, type Input, isRawAnswer, type Output, rawBytes } from './endpoint.ts'
import { endpoints, maxBlobBytes, type OperationId } from './endpoints.ts'
import { errorMessage } from './error-message.ts'
import { AnswerRefused, type Fetch, openAnswer, readAnswer } from './outgoing.ts'
import { parseJson } from './parse-json.ts'
import { oneLine } from './printable.ts'
import { isProblemCode, Problem, ProblemError } from './problem.ts'
import type { ProblemCode } from './problem-codes.ts'
import { ProxyFailed } from './proxy.ts'
import type { Random } from './random.ts'
import { type RequestSigner, signedHeaders } from './request-signature.ts'
import { retrying } from './retry.ts'
import { SvcError } from './svc-error.ts'
import { toSeconds } from './time.ts'

/** Options of one call. */
type CallOptions = {
  readonly signal?: AbortSignal | undefined
  readonly readToken?: string
  readonly lastEventId?: string
  /** Milliseconds for one attempt, including the answer; 15 s when left out. */
  readonly timeoutMs?: number
  /** 1 when left out, for callers that retry themselves. */
  readonly attempts?: number
  /** When set, the call waits while the ICL says that it has too much to do. Called for each such answer. These use up no attempts. */
  readonly onLoad?: ((problem: ProblemError) => void) | undefined
  /** Called for each failure that another attempt may follow. */
  readonly onRetry?: ((error: ProblemError | SvcError) => void) | undefined
}

type Query<E extends Endpoint> = E extends { readonly query: infer Q extends z.ZodObject }
  ? Record<never, never> extends z.input<Q>
    ? { readonly query?: Partial<z.output<Q>> | undefined }
    : { readonly query: z.output<Q> }
  : unknown

/** The endpoint's input. A query without required parts may be left out. */
type CallInput<E extends Endpoint> = Omit<Input<E>, 'query'> & Query<E>

/** One method per endpoint. It encodes inputs, validates answers, and throws problems as ProblemError. */
export type Api = {
  [K in OperationId]: (
    ...args: keyof Input<(typeof endpoints)[K]> extends never
      ? [input?: Record<never, never>, options?: CallOptions]
      : [input: CallInput<(typeof endpoints)[K]>, options?: CallOptions]
  ) => Promise<Output<(typeof endpoints)[K]>>
}

export type ApiOptions = {
  /** The ICL's public address, which signatures are bound to. */
  readonly baseUrl: string
  readonly fetch: Fetch
  readonly clock: Clock
  readonly random: Random
  readonly signer?: RequestSigner
}

const defaultTimeoutMs = 15_000
/** The codes with which an ICL says that it has too much to do, in all or for this caller. */
const loadCodes: ReadonlySet<ProblemCode> = new Set([
  'rate-limited',
  'too-many-jobs',
  'draw-queued',
])

/** Codes that say for how long a model is not there, which may be a day. The caller decides whether to wait. */
const handedOn: ReadonlySet<ProblemCode> = new Set(['model-limited', 'model-withdrawn'])
const longestWaitSeconds = 60

const maxAnswerBytes = maxBlobBytes + 1024

/** Builds the typed client of an ICL. */
export function createApi(options: ApiOptions): Api {
  const caller = createCaller(options)
  const entries = Object.entries(endpoints).map(([name, endpoint]) => [
    name,
    (input: Record<string, unknown> = {}, callOptions: CallOptions = {}) =>
      caller(endpoint, input, callOptions),
  ])
  return Object.fromEntries(entries) as Api
}

function createCaller({ baseUrl, fetch, clock, random, signer }: ApiOptions) {
  /** How far the ICL's clock is ahead of ours, learned from a `signature-stale` problem. */
  let offsetSeconds = 0

  const attempt = async (
    endpoint: Endpoint,
    input: Record<string, unknown>,
    options: CallOptions,
    signal: AbortSignal,
    onSigned: () => void,
  ): Promise<unknown> => {
    const url = urlOf(endpoint, input, baseUrl)
    const headers = new Headers()
    const body = bodyOf(endpoint, input, headers)
    if (options.readToken !== undefined) headers.set('authorization', `Bearer ${options.readToken}`)
    if (options.lastEventId !== undefined) headers.set('last-event-id', options.lastEventId)
    const signed =
      signer === undefined || endpoint.auth === 'none' || options.readToken !== undefined
        ? headers
        : await signedHeaders({ method: endpoint.method, url, headers, body }, signer, {
            created: toSeconds(clock.now()) + offsetSeconds,
            nonce: random.bytes(16),
          })
    onSigned()
    const response = await openAnswer(fetch, url, {
      method: endpoint.method,
      headers: signed,
      signal,
      ...(body !== undefined && { body }),
    })
    if (isRawAnswer(endpoint.response) && response.ok) return response
    const bytes = await readAnswer(response, maxAnswerBytes)
    if (response.ok) return decodeAnswer(endpoint, bytes)
    const answer = unavailableAnswer(endpoint, response, bytes)
    if (answer !== undefined) return answer
    throw problemOf(response, bytes)
  }

  return async (endpoint: Endpoint, input: Record<string, unknown>, options: CallOptions) => {
    const isSigned = endpoint.auth !== 'none' && options.readToken === undefined
    const signingMs = isSigned && signer?.kind === 'wallet' ? (signer.signingMs ?? 0) : 0
    const timeoutMs = (options.timeoutMs ?? defaultTimeoutMs) + signingMs
    const once = () => {
      let isSent = signingMs === 0
      const send = () => {
        isSent = true
      }
      return withDeadline(
        clock,
        timeoutMs,
        options.signal,
        () => (isSent ? unreachable(baseUrl, 'timed out') : unsigned()),
        (signal) =>
          attempt(endpoint, input, options, signal, send).catch((error: unknown) => {
            if (signal.aborted) throw signal.reason
            if (error instanceof ProblemError || error instanceof SvcError) throw error
            // Not z.core.$ZodError: with z.core as a value a bundle has all of zod, with 50 languages.
            if (error instanceof z.ZodError) throw unfit(endpoint, error)
            if (error instanceof AnswerRefused) throw refusing(baseUrl, error)
            if (error instanceof ProxyFailed)
              throw unreachable(baseUrl, `failed: it ${error.message}`, error)
            throw unreachable(baseUrl, `failed (${whyOf(error)})`, error)
          }),
      )
    }
    const inTime = async () => {
      try {
        return await once()
      } catch (error) {
        if (!(error instanceof ProblemError) || error.code !== 'signature-stale') throw error
        if (error.serverTime === undefined) throw error
        offsetSeconds = error.serverTime - toSeconds(clock.now())
        return await once()
      }
    }
    const { onLoad } = options
    return retrying(
      clock,
      { attempts: options.attempts ?? 1, firstDelayMs: 250, maxDelayMs: 5_000 },
      options.signal,
      (error) => toldRetry(error, options.onRetry),
      onLoad ? () => patiently(clock, onLoad, options.signal, inTime) : inTime,
    )
  }
}

/** Retries until the ICL has room. Time for which the ICL held the request counts as waited, and the ICL keeps its place in the queue. */
async function patiently<T>(
  clock: Clock,
  onLoad: (problem: ProblemError) => void,
  signal: AbortSignal | undefined,
  call: () => Promise<T>,
): Promise<T> {
  for (;;) {
    const beganAt = clock.monotonic()
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof ProblemError) || !loadCodes.has(error.code)) throw error
      onLoad(error)
      const askedSeconds = Math.min(error.retryAfterSeconds ?? 1, longestWaitSeconds)
      const askedMs = Math.max(askedSeconds, 1) * 1000
      const waitedMs = error.queue ? elapsedSince(clock, beganAt) : 0
      await clock.sleep(Math.max(askedMs - waitedMs, 250), signal)
    }
  }
}

function toldRetry(error: unknown, onRetry: CallOptions['onRetry']): number | undefined {
  const waitMs = retryAfterMsFor(error)
  if (waitMs !== undefined) onRetry?.(error as ProblemError | SvcError)
  return waitMs
}

/** Returns the milliseconds to wait before a retry; undefined when a retry is of no use. */
export function retryAfterMsFor(error: unknown): number | undefined {
  if (error instanceof ProblemError) {
    if (!error.retryable || handedOn.has(error.code)) return undefined
    return Math.min(error.retryAfterSeconds ?? 0, longestWaitSeconds) * 1000
  }
  return error instanceof SvcError && error.retryable ? 0 : undefined
}

function urlOf(endpoint: Endpoint, input: Record<string, unknown>, baseUrl: string): URL {
  const params = endpoint.params
    ? (z.encode(endpoint.params, input.params as never) as Record<string, string>)
    : {}
  const path = endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  )
  const url = new URL(path, baseUrl)
  if (endpoint.query && input.query !== undefined) {
    for (const [name, value] of Object.entries(input.query as Record<string, unknown>)) {
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
  }
  return url
}

function bodyOf(
  endpoint: Endpoint,
  input: Record<string, unknown>,
  headers: Headers,
): Uint8Array<ArrayBuffer> | undefined {
  if (endpoint.body === undefined) return undefined
  if (endpoint.body === rawBytes) {
    headers.set('content-type', 'application/octet-stream')
    return input.body as Uint8Array<ArrayBuffer>
  }
  headers.set('content-type', 'application/json')
  const json = z.encode(endpoint.body as z.ZodType, input.body)
  return new TextEncoder().encode(JSON.stringify(json))
}

function problemOf(response: Response, bytes: Uint8Array): Error {
  const parsed = Problem.safeParse(parseJson(bytes))
  if (!parsed.success || !isProblemCode(parsed.data.code)) {
    const { status } = response
    return unexpected(
      `The ICL answered ${status} without a known problem`,
      status >= 500 || status === 429,
    )
  }
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  return new ProblemError(parsed.data.code, oneLine(parsed.data.detail ?? parsed.data.title), {
    retryAfterSeconds: Number.isFinite(retryAfter)
      ? Math.min(Math.max(retryAfter, 0), longestRetrySeconds)
      : undefined,
    serverTime: parsed.data.server_time,
    queue: parsed.data.queue,
  })
}

/** The answer of an ICL that says in it that it cannot serve. */
const unavailableAnswer = (
  { isUnavailable, response: form }: Endpoint,
  { status }: Response,
  bytes: Uint8Array,
): unknown =>
  isUnavailable && status === 503 ? (form as z.ZodType).safeParse(parseJson(bytes)).data : undefined

function decodeAnswer(endpoint: Endpoint, bytes: Uint8Array<ArrayBuffer>): unknown {
  if (endpoint.response === rawBytes) return bytes
  const json = parseJson(bytes)
  const call = `${endpoint.method} ${endpoint.path}`
  // The answer was truncated, as when the ICL was killed while it answered.
  if (json === undefined) {
    throw unexpected(`The ICL's answer to ${call} broke off after ${bytes.length} bytes`, true)
  }
  const parsed = (endpoint.response as z.ZodType).safeParse(json)
  if (parsed.success) return parsed.data
  const how = z.prettifyError(parsed.error)
  throw unexpected(`The ICL's answer to ${call} has another form: ${how}`, false)
}

const unexpected = (message: string, retryable: boolean): SvcError =>
  new SvcError('icl-unexpected-answer', message, {
    hint: remedyFor('client', 'icl-unexpected-answer'),
    retryable,
  })

/** A proxy may redirect for a while, but what unpacks or has no end is not asked for again. */
const refusing = (baseUrl: string, error: AnswerRefused): SvcError =>
  error.kind === 'redirect'
    ? unreachable(baseUrl, `failed (it ${error.message})`, error)
    : unexpected(`The ICL at ${baseUrl} ${error.message}`, false)

const unfit = (endpoint: Endpoint, cause: z.ZodError): SvcError =>
  new SvcError(
    'request-invalid',
    `The request ${endpoint.method} ${endpoint.path} was not sent: ${z.prettifyError(cause)}`,
    { hint: 'Correct what was given.', cause },
  )

/** A retry would ask the wallet's user once more. */
const unsigned = (): SvcError =>
  new SvcError('wallet-silent', 'The wallet did not sign a request in time', {
    hint: 'Try again, and approve the request in the wallet within a minute.',
  })

// Some runtimes say only `fetch failed`, and the reason in its cause, which may have a code only. Bun's hints for programmers follow its
// first sentence.
function whyOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const [why = ''] = errorMessage(cause).split('. ', 1)
  return why || String((cause as { readonly code?: unknown }).code ?? 'without a reason')
}

const unreachable = (baseUrl: string, how: string, cause?: unknown): SvcError =>
  new SvcError('icl-unreachable', `The call to the ICL at ${baseUrl} ${how}`, {
    hint: `${remedyFor('client', 'icl-unreachable')}${pageHint(baseUrl)}`,
    retryable: true,
    cause,
  })

/** In a page of another origin: a browser does not say that the ICL does not allow the page. */
function pageHint(baseUrl: string): string {
  const { location } = globalThis as { readonly location?: { readonly origin: string } }
  if (location === undefined || `${baseUrl}/`.startsWith(`${location.origin}/`)) return ''
  // A page without an origin, as from a file, is called null.
  const needed = location.origin === 'null' ? '*' : location.origin
  return ` If it can be reached, its operator has to allow this page: SVC_ICL_ALLOW_ORIGINS=${needed}.`
}
