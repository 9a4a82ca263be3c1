import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { type Method, wrapped } from '../wrapped.ts'
import { type createFailures, isPassing } from './failures.ts'
import type { Metrics } from './metrics.ts'
import { tracer } from './tracing.ts'

type Failures = ReturnType<typeof createFailures>

/** Returns a port whose asynchronous methods are timed, and traced as spans of the request that they serve. Logs passing failures. */
export const instrumented = <T extends object>(
  port: 'store' | 'chain',
  target: T,
  metrics: Metrics,
  failures?: Failures,
): T => wrapped(target, (method, name) => timed(port, name, method, metrics, failures))

/** Returns a method with timed and traced calls. */
export function timed(
  port: 'store' | 'chain',
  name: string,
  method: Method,
  metrics: Metrics,
  failures?: Failures,
): Method {
  return (...args) => {
    const startedAt = metrics.stopwatch()
    // Background work has no active span: each of its many small calls would be a trace of its own.
    const span = trace.getActiveSpan()
      ? tracer.startSpan(`${port} ${name}`, { kind: SpanKind.CLIENT })
      : undefined
    const end = (outcome: 'ok' | 'error') => {
      metrics.call(port, name, outcome, metrics.stopwatch() - startedAt)
      // Leaves out the error's message, which may contain addresses of machines.
      if (outcome === 'error') span?.setStatus({ code: SpanStatusCode.ERROR })
      span?.end()
    }
    try {
      const result = method(...args)
      if (!(result instanceof Promise)) {
        span?.end()
        return result
      }
      result.then(
        () => {
          end('ok')
          failures?.passed(name)
        },
        (error: unknown) => {
          end('error')
          if (isPassing(error)) failures?.failed(name, error)
        },
      )
      return result
    } catch (error) {
      end('error')
      throw error
    }
  }
}
