import type { Context, Hono } from 'hono'
import { z } from 'zod'
import {
  type Endpoint,
  eventStream,
  type Input,
  type Output,
  rawBytes,
} from '../../lib/endpoint.ts'
import { maxBlobBytes, maxBodyBytes } from '../../lib/endpoints.ts'
import { ProblemError } from '../../lib/problem.ts'
import { type Dependencies, publicOrigin } from '../dependencies.ts'
import { authenticate, type Caller } from './authenticate.ts'
import { readBody } from './read-body.ts'

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
    const input: Record<string, unknown> = {}
    if (endpoint.params) input.params = parse(endpoint.params, c.req.param(), 'path')
    if (endpoint.query) input.query = parse(endpoint.query, c.req.query(), 'query')
    const body = await bodyOf(endpoint, c)
    const caller = await authenticate(deps, endpoint.auth, {
      method: c.req.method,
      url: publicUrl(deps, c.req.url),
      headers: c.req.raw.headers,
      hasBody: body.length > 0,
      body,
      jobId: (input.params as { jobId?: string } | undefined)?.jobId,
    })
    if (endpoint.body === rawBytes) input.body = body
    else if (endpoint.body) input.body = parse(endpoint.body as z.ZodType, parseJson(body), 'body')
    const context = { caller, signal: c.req.raw.signal, headers: c.req.raw.headers }
    return respond(endpoint, c, await serve(input as Input<E>, context))
  })
}

/** The address as callers know it: what a proxy made of it on the way does not count. */
function publicUrl(deps: Dependencies, url: string): URL {
  const { pathname, search } = new URL(url)
  return new URL(pathname + search, publicOrigin(deps))
}

async function bodyOf(endpoint: Endpoint, c: Context): Promise<Uint8Array<ArrayBuffer>> {
  if (endpoint.body === undefined) return readBody(c.req.raw, maxBodyBytes)
  const wanted = endpoint.body === rawBytes ? 'application/octet-stream' : 'application/json'
  const type = c.req.header('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== wanted) {
    throw new ProblemError('unsupported-media-type', `Send the body as ${wanted}`)
  }
  return readBody(c.req.raw, endpoint.body === rawBytes ? maxBlobBytes : maxBodyBytes)
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
