import { context, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Context } from 'hono'
import { toBase64Url } from '../../lib/digest.ts'
import { endpoints, type OperationId } from '../../lib/endpoints.ts'
import type { Dependencies } from '../dependencies.ts'
import { logWith } from '../telemetry/log.ts'
import { callerContext, isTraced, traceIdOf, tracer } from '../telemetry/tracing.ts'
import { requestDependencies } from './budget.ts'
import { laterOf } from './connection-limit.ts'
import { crossOrigin } from './cross-origin.ts'
import { callerAddress, createForwardingCheck } from './peer-address.ts'
import { type AnswerFailure, failureOf } from './problems.ts'
import type { RequestEnv, Within } from './request-env.ts'
import { checkForm } from './request-form.ts'
import { allowanceHeaders } from './throttle.ts'

/**
 * Gives every request an id, a span, a log that names both, a stopwatch, and the headers that all responses have. Checks its form, answers
 * preflights and failures, and sends no response that rests on a save that may still be lost. One function instead of a middleware for
 * each, because Hono composes middleware anew for every request.
 */
export function requestContext(deps: Dependencies, fail: AnswerFailure): Within {
  const { trustedProxies, origins } = deps.access
  const checkForwarding = createForwardingCheck(trustedProxies, (text) => deps.log.warn(text))
  const dependenciesOf = requestDependencies(deps)
  const durably: Within = async (c, serve) => {
    const barrier = deps.store.commits.barrier()
    deps.store.renew?.()
    let response: Response
    try {
      checkForm(c.req.raw)
      response = await serve()
    } catch (error) {
      response = failureOf(c, fail, error)
    }
    try {
      await barrier()
    } catch (error) {
      // Ends a stream that is not sent.
      void response.body?.cancel()
      response = failureOf(c, fail, error)
    }
    // Ends the body, which nobody reads: Hono makes a new response of the head.
    if (c.req.method === 'HEAD') void response.body?.cancel()
    return response
  }
  const shared: Within = async (c, serve) => {
    const { preflight, share } = crossOrigin(origins, c.req.path, c.req.raw)
    if (preflight) c.get('request').operation = 'preflight'
    const response = preflight ?? (await durably(c, serve))
    share(response)
    return response
  }
  return async (c, serve) => {
    const { headers, method } = c.req.raw
    const requestId = toBase64Url(deps.random.bytes(9))
    const forwardedFor = headers.get('x-forwarded-for')
    checkForwarding(() => c.req.path, c.env?.peerAddress, forwardedFor)
    // Without a tracing SDK, a span would only pass the caller's trace to the log.
    const parent = isTraced() || headers.has('traceparent') ? callerContext(headers) : undefined
    const attributes = { 'http.request.method': method, 'svc.request_id': requestId }
    const span =
      parent && tracer.startSpan('request', { kind: SpanKind.SERVER, attributes }, parent)
    const log = logWith(deps.log, span ? { requestId, traceId: traceIdOf(span) } : { requestId })
    const request = {
      requestId,
      startedAt: deps.metrics.stopwatch(),
      // For HEAD, Hono makes a new response, which is no placeholder.
      mayLeave: !span && method !== 'HEAD',
      operation: undefined,
      deps: dependenciesOf(log),
      address: callerAddress(c.env?.peerAddress, forwardedFor, trustedProxies),
      allowance: undefined,
    }
    c.set('request', request)
    const response = await (parent && span
      ? context.with(trace.setSpan(parent, span), () => shared(c, serve))
      : shared(c, serve))
    if (laterOf(response) !== undefined) return response
    const ending = endingOf(c)
    finish(span ? request.deps : deps, ending, response)
    if (span) describe(span, ending.operation, response.status)
    return response
  }
}

/** What is kept of a request until it is answered. */
export type Ending = ReturnType<typeof endingOf>

/** Returns what the answer to a request needs, so that the request itself need not be kept. */
export const endingOf = (c: Context<RequestEnv>) => {
  const { requestId, operation = 'unknown', allowance, startedAt } = c.get('request')
  return { requestId, operation, method: c.req.method, allowance, startedAt }
}

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
