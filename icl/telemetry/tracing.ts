import {
  type Context,
  createTraceState,
  isSpanContextValid,
  ProxyTracerProvider,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type TextMapGetter,
  trace,
} from '@opentelemetry/api'
import { version } from '../version.ts'

/** The tracer of the ICL. It records no spans until the operator loads an OpenTelemetry SDK. */
export const tracer = trace.getTracer('svc-icl', version)

const none = new ProxyTracerProvider().getDelegate()

/** False until the operator loads an SDK: without one no span is recorded, and no context needs to be passed on. */
export function isTraced(): boolean {
  const provider = trace.getTracerProvider()
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegate() !== none
}

const headersGetter: TextMapGetter<Headers> = {
  get: (headers, name) => headers.get(name) ?? undefined,
  keys: (headers) => [...headers.keys()],
}

/** Returns the trace context of a request: what the operator's propagator reads, or else W3C `traceparent`. */
export function callerContext(headers: Headers): Context {
  const extracted = propagation.extract(ROOT_CONTEXT, headers, headersGetter)
  if (trace.getSpanContext(extracted) !== undefined) return extracted
  const parts = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(
    headers.get('traceparent') ?? '',
  )
  const [, traceId = '', spanId = '', flags = '0'] = parts ?? []
  const state = headers.get('tracestate')
  const parent = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
    ...(state !== null && { traceState: createTraceState(state) }),
  }
  return isSpanContextValid(parent) ? trace.setSpanContext(extracted, parent) : extracted
}

/** Returns the trace id of a span, for log lines; undefined without tracing. */
export function traceIdOf(span: Span): string | undefined {
  const spanContext = span.spanContext()
  return isSpanContextValid(spanContext) ? spanContext.traceId : undefined
}
