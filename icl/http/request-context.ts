import { context, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Context, MiddlewareHandler } from 'hono'
import { toBase64Url } from '../../lib/digest.ts'
import { endpoints, type OperationId } from '../../lib/endpoints.ts'
import type { Dependencies } from '../dependencies.ts'
import { logWith } from '../telemetry/log.ts'
import { callerContext, isTraced, traceIdOf, tracer } from '../telemetry/tracing.ts'
import { callerAddress } from './peer-address.ts'
import type { RequestEnv } from './request-env.ts'
import { allowanceHeaders } from './throttle.ts'

/** Goes along with every request: an id for it, a span, a log that names both, its measure, and headers that all answers have. */
export const requestContext =
  (deps: Dependencies): MiddlewareHandler<RequestEnv> =>
  async (c, next) => {
    const { headers } = c.req.raw
    const seconds = deps.metrics.start()
    const requestId = toBase64Url(deps.random.bytes(9))
    c.set('requestId', requestId)
    c.set(
      'address',
      callerAddress(c.env?.peerAddress, headers.get('x-forwarded-for'), deps.access.trustedProxies),
    )
    // Without an SDK, all that a span would do is to tell the caller's trace to the log.
    if (!isTraced() && !headers.has('traceparent')) {
      const log = logWith(deps.log, { requestId })
      c.set('deps', { ...deps, log })
      await next()
      return finish(c, undefined, log, seconds())
    }
    const parent = callerContext(headers)
    const span = tracer.startSpan(
      'request',
      {
        kind: SpanKind.SERVER,
        attributes: { 'http.request.method': c.req.method, 'svc.request_id': requestId },
      },
      parent,
    )
    const log = logWith(deps.log, { requestId, traceId: traceIdOf(span) })
    c.set('deps', { ...deps, log })
    await context.with(trace.setSpan(parent, span), next)
    finish(c, span, log, seconds())
  }

function finish(
  c: Context<RequestEnv>,
  span: Span | undefined,
  log: Dependencies['log'],
  seconds: number,
): void {
  const { status } = c.res
  const operation = c.get('operation') ?? 'unknown'
  c.res.headers.set('x-request-id', c.get('requestId'))
  c.res.headers.set('x-content-type-options', 'nosniff')
  const allowance = c.get('allowance')
  if (allowance) {
    for (const [name, value] of Object.entries(allowanceHeaders(allowance))) {
      c.res.headers.set(name, value)
    }
  }
  if (span) describe(span, operation, status)
  c.get('deps').metrics.request(operation, status, seconds)
  log.debug('request', {
    operation,
    method: c.req.method,
    status,
    ms: Math.round(seconds * 1000),
  })
}

function describe(span: Span, operation: string, status: number): void {
  span.updateName(operation)
  span.setAttribute('http.response.status_code', status)
  const route = endpoints[operation as OperationId]?.path
  if (route !== undefined) span.setAttribute('http.route', route)
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}
