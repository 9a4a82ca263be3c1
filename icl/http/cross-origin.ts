import type { AllowedOrigins } from '../rules/access.ts'

/** The paths of clients. Those of nodes, the console, probes, metrics and the pages are for no page elsewhere. */
const publicPath = /^\/(?:health$|ipfs\/|\.well-known\/|v1\/(?!console\/))/

const requestHeaders = [
  ...['authorization', 'content-digest', 'content-type', 'last-event-id'],
  ...['signature', 'signature-input', 'traceparent', 'tracestate'],
].join(', ')
const responseHeaders = 'etag, ratelimit, ratelimit-policy, retry-after, x-request-id'

/** How long a browser may remember a preflight, in seconds: browsers keep none for longer. */
const preflightSeconds = '7200'

/*
 * Cross-origin resource sharing (CORS, in the Fetch standard). Callers are recognised by a signature or a token, which the page itself adds,
 * so responses never allow credentials that a browser would add. A preflight has neither, and counts towards no limit: a page would not learn
 * why it is refused. Hono's own middleware sets its headers before a request is served, but a 304 and a failed save drop such headers.
 */

/** The response to a request that is a preflight from an allowed origin, and the function that lets the page of a request read a response. */
export function crossOrigin(
  allowed: AllowedOrigins,
  path: string,
  { method, headers }: Request,
): { readonly preflight: Response | undefined; readonly share: (response: Response) => void } {
  if (allowed.length === 0 || !publicPath.test(path)) return forbidden
  const origin = originFor(allowed, headers.get('origin'))
  const isPreflight = method === 'OPTIONS' && headers.has('access-control-request-method')
  return {
    preflight: isPreflight && origin !== undefined ? preflightResponse() : undefined,
    share: (response) => {
      // A cache must not give one origin the response to another.
      if (allowed !== '*') response.headers.append('vary', 'Origin')
      if (origin === undefined) return
      response.headers.set('access-control-allow-origin', origin)
      response.headers.set('access-control-expose-headers', responseHeaders)
    },
  }
}

const forbidden = { preflight: undefined, share: () => {} }

const originFor = (allowed: AllowedOrigins, origin: string | null): string | undefined => {
  if (allowed === '*') return '*'
  return origin !== null && allowed.includes(origin) ? origin : undefined
}

const preflightResponse = (): Response =>
  new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': 'GET, HEAD, POST',
      'access-control-allow-headers': requestHeaders,
      'access-control-max-age': preflightSeconds,
    },
  })
