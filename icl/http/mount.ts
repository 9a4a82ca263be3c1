import type { Context, Hono } from 'hono'
import { etag } from 'hono/etag'
import type { z } from 'zod'
import { JobId } from '../../lib/codecs.ts'
import { within } from '../../lib/deadline.ts'
import { encode } from '../../lib/encode.ts'
import {
  type Endpoint,
  type Input,
  isRawAnswer,
  type Output,
  rawBytes,
} from '../../lib/endpoint.ts'
import { endpoints, maxBlobBytes, maxBodyBytes, type OperationId } from '../../lib/endpoints.ts'
import { hasNameTwice, isTooDeep, maxDepth } from '../../lib/is-json.ts'
import { ProblemError } from '../../lib/problem.ts'
import { readLimited } from '../../lib/read-limited.ts'
import { publicOrigin } from '../../lib/schemas/network.ts'
import type { Dependencies } from '../dependencies.ts'
import { takeNonce } from '../records/claim-key.ts'
import type { Authenticate, Caller } from './authenticate.ts'
import { isLater, type Later, letGo, responseLater } from './connection-limit.ts'
import type { AnswerFailure } from './problems.ts'
import { type Ending, endingOf, finish } from './request-context.ts'
import type { RequestEnv, Within } from './request-env.ts'
import { targetOf } from './request-form.ts'
import { cacheControlOf } from './text-response.ts'
import type { Throttle } from './throttle.ts'

/** The arguments of an operation, besides its input. */
export type RequestContext = {
  /** Their log names the request. */
  readonly deps: Dependencies
  readonly caller: Caller
  /** Aborts when the caller goes away. Read it only where it is needed: the runtime creates it on the first read. */
  readonly signal: AbortSignal
  readonly headers: Headers
  /** The address that the request counts for when it is not authenticated. */
  readonly address: string
  /** The peer of the connection. Undefined where the runtime does not say it. */
  readonly peerAddress: string | undefined
}

/** Serves one endpoint. */
export type Serve<E extends Endpoint> = (
  input: Input<E>,
  context: RequestContext,
) => Promise<Output<E> | Later<Output<E>>> | Output<E>

/** The checks that every request passes, and the answer to a failure. */
export type Gate = {
  readonly within: Within
  readonly throttle: Throttle
  readonly authenticate: Authenticate
  readonly fail: AnswerFailure
}

/** Mounts an endpoint. A request is limited, authenticated, parsed and served, and its output is encoded. */
export function mount<E extends Endpoint>(
  app: Hono<RequestEnv>,
  gate: Gate,
  base: Dependencies,
  operation: string,
  endpoint: E,
  serve: Serve<E>,
): void {
  const path = endpoint.path.replace(/\{(\w+)\}/g, ':$1')
  const answer = async (c: Context<RequestEnv>): Promise<Response> => {
    // `GET /internal/task/claim` uses the wrong method of a known path. It does not name a job `claim`.
    if (writtenOut.has(c.req.path) && c.req.path !== endpoint.path) return c.notFound()
    c.get('request').operation = operation
    gate.throttle.arrive(c, endpoint)
    let reading: ReturnType<typeof bodyOf> | undefined
    const readBody = () => {
      reading ??= bodyOf(endpoint, c)
      return reading
    }
    const caller = await recognise(c, gate, endpoint, readBody)
    const body = endpoint.body ? await readBody() : undefined
    const deps = c.get('request').deps
    let input: Record<string, unknown>
    try {
      input = inputOf(endpoint, c, body)
    } catch (error) {
      // The operation would have used up the nonce, and is not reached.
      if (takesNonce(c) && caller.kind === 'wallet') await takeNonce(deps, caller.nonce)
      throw error
    }
    // A stream outlasts every budget.
    if (!isRawAnswer(endpoint.response)) deps.begin(holdMsOf(input))
    const output = await serve(input as Input<E>, {
      deps,
      caller,
      get signal() {
        return c.req.raw.signal
      },
      headers: c.req.raw.headers,
      address: c.get('request').address,
      peerAddress: c.env?.peerAddress,
    })
    if (!isLater(output)) return respond(endpoint, c, output)
    if (!c.get('request').mayLeave) return answerWithin(endpoint, output)
    return responseLater(answerLater(endpoint, gate, base, endingOf(c), output))
  }
  const tag = endpoint.hasEtag ? etag() : undefined
  const tagged = async (c: Context<RequestEnv>) => {
    await tag?.(c, async () => {
      c.res = await answer(c)
    })
    return c.res
  }
  app.on(endpoint.method, path, (c) => gate.within(c, () => (tag ? tagged(c) : answer(c))))
}

async function answerWithin(endpoint: Endpoint, { later, held }: Later<unknown>) {
  try {
    return jsonResponse(endpoint, await later)
  } finally {
    letGo(held)
  }
}

/** Answers a request later. Of the request, only what the answer needs is kept. */
function answerLater(
  endpoint: Endpoint,
  { fail }: Gate,
  deps: Dependencies,
  ending: Ending,
  { later, held }: Later<unknown>,
): Promise<Response> {
  const end = (response: Response) => {
    letGo(held)
    finish(deps, ending, response)
    return response
  }
  return later.then(
    (output) => end(jsonResponse(endpoint, output)),
    (error: unknown) => end(fail({ deps, ...ending }, error)),
  )
}

/** The paths of the table of endpoints, which no path with a parameter matches. */
export const writtenOut: ReadonlySet<string> = new Set(
  Object.values(endpoints).map(({ path }) => path),
)

/** How long the caller asked to be held, in milliseconds. */
const holdMsOf = ({ query, body }: Record<string, unknown>): number => {
  const asking = [query, body].find((part) => typeof part === 'object' && part && 'wait' in part)
  return Number((asking as { wait?: number } | undefined)?.wait ?? 0) * 1000
}

/** Operations that use up their wallet's nonce themselves, also when they fail. */
const takingNonces: ReadonlySet<string> = new Set(['submitJob'] satisfies OperationId[])
const takesNonce = (c: Context<RequestEnv>): boolean =>
  takingNonces.has(c.get('request').operation ?? '')

async function recognise(
  c: Context<RequestEnv>,
  { throttle, authenticate }: Gate,
  endpoint: Endpoint,
  body: () => ReturnType<typeof bodyOf>,
): Promise<Caller> {
  const deps = c.get('request').deps
  const named = c.req.param('jobId')
  const jobId = named === undefined ? undefined : JobId.safeParse(named).data
  const caller = await authenticate(deps, endpoint.auth, {
    method: c.req.method,
    // The URL as callers know it. A proxy may have changed scheme and host on the way.
    url: new URL(publicOrigin(deps.network) + targetOf(c.req.url)),
    headers: c.req.raw.headers,
    body,
    jobId,
    takesNonce: takesNonce(c),
  }).catch((error: unknown) => {
    throttle.fail(c, error)
    throw error
  })
  throttle.recognise(c, caller, jobId)
  return caller
}

const bodyMs = 30_000

/** Reads the body. Undefined when it is larger than the endpoint takes. A body whose announced length is too large is not read. */
async function bodyOf(
  endpoint: Endpoint,
  c: Context<RequestEnv>,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const limit = limitOf(endpoint)
  const length = c.req.header('content-length')
  if (Number(length ?? 0) > limit) return undefined
  // The server holds a body to its announced length.
  const read = length === undefined ? readLimited : readWhole
  if (length === undefined && c.req.raw.body === null) return new Uint8Array()
  const tooSlow = () =>
    new ProblemError('request-timeout', `The body has to arrive within ${bodyMs / 1000} s`)
  const body = read(c.req.raw, limit).catch(() => {
    // A caller that goes away is no failure of the ICL.
    throw new ProblemError('invalid-request', 'The body did not arrive whole')
  })
  return within(c.get('request').deps.clock, bodyMs, tooSlow, body)
}

/** Like `readLimited`, but in one piece: a stream would cost more than the rest of most requests. */
async function readWhole(request: Request, maxBytes: number) {
  const bytes = new Uint8Array(await request.arrayBuffer())
  return bytes.length > maxBytes ? undefined : bytes
}

const limitOf = ({ body }: Endpoint): number => (body === rawBytes ? maxBlobBytes : maxBodyBytes)

function inputOf(
  endpoint: Endpoint,
  c: Context<RequestEnv>,
  body: Uint8Array<ArrayBuffer> | undefined,
): Record<string, unknown> {
  const input: Record<string, unknown> = {}
  if (endpoint.params) input.params = parse(endpoint.params, c.req.param(), 'path')
  if (endpoint.query) input.query = parse(endpoint.query, c.req.query(), 'query')
  if (endpoint.body) input.body = parseBody(endpoint, c, body)
  return input
}

function parseBody(
  endpoint: Endpoint,
  c: Context<RequestEnv>,
  body: Uint8Array<ArrayBuffer> | undefined,
): unknown {
  if (!body) {
    throw new ProblemError('body-too-large', `A body may have ${limitOf(endpoint)} bytes at most`)
  }
  const wanted = endpoint.body === rawBytes ? 'application/octet-stream' : 'application/json'
  const [type, ...parameters] = (c.req.header('content-type') ?? '').toLowerCase().split(';')
  if (type?.trim() !== wanted || parameters.some((one) => !/^ *(charset="?utf-8"?)?$/.test(one))) {
    throw new ProblemError('unsupported-media-type', `Send the body as ${wanted}, in UTF-8`)
  }
  const coding = c.req.header('content-encoding') ?? 'identity'
  if (coding.toLowerCase() !== 'identity') {
    throw new ProblemError('unsupported-media-type', 'Send the body without a content encoding')
  }
  if (endpoint.body === rawBytes) return body
  return parse(endpoint.body as z.ZodType, parseJson(body), 'body')
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function parseJson(bytes: Uint8Array): unknown {
  let text: string
  let value: unknown
  try {
    text = decoder.decode(bytes)
    value = JSON.parse(text)
  } catch (error) {
    // Deep nesting overflows the stack of some runtimes.
    if (error instanceof RangeError) throw tooDeep()
    throw new ProblemError('invalid-request', 'The body is not JSON in UTF-8')
  }
  if (isTooDeep(value)) throw tooDeep()
  if (!hasNameTwice(text, value)) return value
  throw new ProblemError('invalid-request', 'An object in the body has two members of one name')
}

const tooDeep = () =>
  new ProblemError(
    'invalid-request',
    `The body is nested too deep: lists and objects may be ${maxDepth} deep in one another`,
  )

function parse<T extends z.ZodType>(schema: T, value: unknown, part: string): z.output<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues
    .slice(0, 8)
    .map(({ path, message }) => `${[part, ...path.map(String)].join('.')}: ${message}`)
  throw new ProblemError(part === 'query' ? 'invalid-query' : 'invalid-request', issues.join('; '))
}

function respond(endpoint: Endpoint, c: Context<RequestEnv>, output: unknown): Response {
  if (isRawAnswer(endpoint.response)) return output as Response
  if (endpoint.response === rawBytes) {
    return c.body(output as Uint8Array<ArrayBuffer>, 200, {
      'content-type': 'application/octet-stream',
      // A CID always names the same bytes.
      etag: `"${c.req.param('cid')}"`,
      'cache-control': 'public, max-age=31536000, immutable',
    })
  }
  return jsonResponse(endpoint, output)
}

function jsonResponse(endpoint: Endpoint, output: unknown): Response {
  const text = JSON.stringify(encode(endpoint.response as z.ZodType, output))
  const headers = { 'content-type': 'application/json', 'cache-control': cacheControlOf(endpoint) }
  if (!endpoint.isUnavailable?.(output)) return new Response(text, { headers })
  return new Response(text, { status: 503, headers: { ...headers, 'retry-after': '1' } })
}
