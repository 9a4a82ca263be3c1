import { context, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Context, MiddlewareHandler } from 'hono'
import { toBase64Url } from '../../lib/digest.ts'
import { endpoints, type OperationId } from '../../lib/endpoints.ts'
import type { Dependencies } from '../dependencies.ts'
import { logWith } from '../telemetry/log.ts'
import { callerContext, isTraced, traceIdOf, tracer } from '../telemetry/tracing.ts'
import { laterOf } from './connection-limit.ts'
import { callerAddress, createForwardingCheck } from './peer-address.ts'
import type { RequestEnv } from './request-env.ts'
import { allowanceHeaders } from './throttle.ts'

/** Gives every request an id, a span, a log that names both, a stopwatch, and the headers that all responses have. */
export function requestContext(deps: Dependencies): MiddlewareHandler<RequestEnv> {
  const { trustedProxies } = deps.access
  const checkForwarding = createForwardingCheck(trustedProxies, (text) => deps.log.warn(text))
  return async (c, next) => {
    const { headers } = c.req.raw
    const requestId = toBase64Url(deps.random.bytes(9))
    c.set('requestId', requestId)
    c.set('startedAt', deps.metrics.stopwatch())
    const forwardedFor = headers.get('x-forwarded-for')
    checkForwarding(() => c.req.path, c.env?.peerAddress, forwardedFor)
    c.set('address', callerAddress(c.env?.peerAddress, forwardedFor, trustedProxies))
    // Without a tracing SDK, a span would only pass the caller's trace to the log.
    if (!isTraced() && !headers.has('traceparent')) {
      c.set('deps', { ...deps, log: logWith(deps.log, { requestId }) })
      // For HEAD, Hono makes a new response, which is no placeholder.
      c.set('mayLeave', c.req.method !== 'HEAD')
      await next()
      if (laterOf(c.res) === undefined) finish(c.get('deps'), endingOf(c), c.res)
      return
    }
    const parent = callerContext(headers)
    const attributes = { 'http.request.method': c.req.method, 'svc.request_id': requestId }
    const span = tracer.startSpan('request', { kind: SpanKind.SERVER, attributes }, parent)
    const log = logWith(deps.log, { requestId, traceId: traceIdOf(span) })
    c.set('deps', { ...deps, log })
    await context.with(trace.setSpan(parent, span), next)
    const ending = endingOf(c)
    finish(c.get('deps'), ending, c.res)
    describe(span, ending.operation, c.res.status)
  }
}

/** What is kept of a request until it is answered. */
export type Ending = ReturnType<typeof endingOf>

/** Returns what the answer to a request needs, so that the request itself need not be kept. */
export const endingOf = (c: Context<RequestEnv>) => ({
  requestId: c.get('requestId'),
  operation: c.get('operation') ?? 'unknown',
  method: c.req.method,
  allowance: c.get('allowance'),
  startedAt: c.get('startedAt'),
})

/** Adds the headers that all responses have, and counts the request. */
export function finish(
  { metrics, log, notifier }: Pick<Dependencies, 'metrics' | 'log' | 'notifier'>,
  { requestId, operation, method, allowance, startedAt }: Ending,
  { status, headers }: Response,
): void {
  headers.set('x-request-id', requestId)
  headers.set('x-content-type-options', 'nosniff')
  if (notifier.leaving) headers.set('connection', 'close')
  if (allowance) {
    for (const [name, value] of Object.entries(allowanceHeaders(allowance))) {
      headers.set(name, value)
    }
  }
  const took = metrics.stopwatch() - startedAt
  metrics.request(operation, status, took)
  log.debug('request', { requestId, operation, method, status, ms: Math.round(took * 1000) })
}

function describe(span: Span, operation: string, status: number): void {
  span.updateName(operation)
  span.setAttribute('http.response.status_code', status)
  const route = endpoints[operation as OperationId]?.path
  if (route !== undefined) span.setAttribute('http.route', route)
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}
