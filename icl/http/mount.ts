import type { Context, Hono } from 'hono'
import { z } from 'zod'
import { JobId } from '../../lib/codecs.ts'
import {
  type Endpoint,
  eventStream,
  type Input,
  type Output,
  rawBytes,
} from '../../lib/endpoint.ts'
import { maxBlobBytes, maxBodyBytes } from '../../lib/endpoints.ts'
import { ProblemError } from '../../lib/problem.ts'
import { readLimited } from '../../lib/read-limited.ts'
import { type Dependencies, publicOrigin } from '../dependencies.ts'
import { authenticate, type Caller } from './authenticate.ts'

/** What a request brings besides its input. */
type RequestContext = {
  readonly caller: Caller
  /** Aborts when the caller goes away. */
  readonly signal: AbortSignal
  readonly headers: Headers
}

/** Serves one endpoint. */
export type Serve<E extends Endpoint> = (
  input: Input<E>,
  context: RequestContext,
) => Promise<Output<E>> | Output<E>

/** Mounts an endpoint: authenticate, parse, run, encode. */
export function mount<E extends Endpoint>(
  app: Hono,
  deps: Dependencies,
  endpoint: E,
  serve: Serve<E>,
): void {
  app.on(endpoint.method, endpoint.path.replace(/\{(\w+)\}/g, ':$1'), async (c) => {
    const body = await bodyOf(endpoint, c)
    const caller = await authenticate(deps, endpoint.auth, {
      method: c.req.method,
      url: publicUrl(deps, c.req.url),
      headers: c.req.raw.headers,
      hasBody: body === undefined || body.length > 0,
      body,
      jobId: JobId.safeParse(c.req.param('jobId')).data,
    })
    const input: Record<string, unknown> = {}
    if (endpoint.params) input.params = parse(endpoint.params, c.req.param(), 'path')
    if (endpoint.query) input.query = parse(endpoint.query, c.req.query(), 'query')
    if (endpoint.body) input.body = parseBody(endpoint, c, body)
    const context = { caller, signal: c.req.raw.signal, headers: c.req.raw.headers }
    return respond(endpoint, c, await serve(input as Input<E>, context))
  })
}

/** The address as callers know it: what a proxy made of it on the way does not count. */
function publicUrl(deps: Dependencies, url: string): URL {
  // Only what follows the authority counts; whatever a caller put into Host need not even be one.
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  return new URL(publicOrigin(deps) + (start < 0 ? '/' : url.slice(start)))
}

/** The body, undefined when it is larger than the endpoint takes. */
const bodyOf = (endpoint: Endpoint, c: Context): Promise<Uint8Array<ArrayBuffer> | undefined> =>
  readLimited(c.req.raw, limitOf(endpoint))

const limitOf = ({ body }: Endpoint): number => (body === rawBytes ? maxBlobBytes : maxBodyBytes)

function parseBody(
  endpoint: Endpoint,
  c: Context,
  body: Uint8Array<ArrayBuffer> | undefined,
): unknown {
  if (!body) {
    throw new ProblemError('body-too-large', `A body may have ${limitOf(endpoint)} bytes at most`)
  }
  const wanted = endpoint.body === rawBytes ? 'application/octet-stream' : 'application/json'
  const type = c.req.header('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== wanted) {
    throw new ProblemError('unsupported-media-type', `Send the body as ${wanted}`)
  }
  if (endpoint.body === rawBytes) return body
  return parse(endpoint.body as z.ZodType, parseJson(body), 'body')
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new ProblemError('invalid-request', 'The body is not JSON in UTF-8')
  }
}

function parse<T extends z.ZodType>(schema: T, value: unknown, part: string): z.output<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.slice(0, 8).map(({ path, message }) => {
    const where = [part, ...path.map(String)].join('.')
    return `${where}: ${message}`
  })
  throw new ProblemError('invalid-request', issues.join('; '))
}

function respond(endpoint: Endpoint, c: Context, output: unknown): Response {
  if (endpoint.response === eventStream) return output as Response
  if (endpoint.response === rawBytes) {
    return c.body(output as Uint8Array<ArrayBuffer>, 200, {
      'content-type': 'application/octet-stream',
      'x-content-type-options': 'nosniff',
      // A CID never means other bytes.
      'cache-control': 'public, max-age=31536000, immutable',
    })
  }
  return c.json(z.encode(endpoint.response as z.ZodType, output) as object, 200, {
    'cache-control': 'no-store',
  })
}
