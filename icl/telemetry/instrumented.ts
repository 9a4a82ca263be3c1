import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Metrics } from './metrics.ts'
import { tracer } from './tracing.ts'

type Method = (...args: unknown[]) => unknown

/** Returns a port whose asynchronous methods are timed, and traced as spans of the request that they serve. */
export function instrumented<T extends object>(
  port: 'store' | 'chain',
  target: T,
  metrics: Metrics,
): T {
  const wrappers = new Map<PropertyKey, Method>()
  return new Proxy(target, {
    get: (_, name) => {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function' || typeof name !== 'string') return value
      const known = wrappers.get(name)
      if (known) return known
      const wrapper = timed(port, name, value.bind(target) as Method, metrics)
      wrappers.set(name, wrapper)
      return wrapper
    },
  })
}

/** Returns a method with timed and traced calls. */
export function timed(
  port: 'store' | 'chain',
  name: string,
  method: Method,
  metrics: Metrics,
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
      return result.then(
        (value: unknown) => {
          end('ok')
          return value
        },
        (error: unknown) => {
          end('error')
          throw error
        },
      )
    } catch (error) {
      end('error')
      throw error
    }
  }
}
