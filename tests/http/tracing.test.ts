import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Context,
  type ContextManager,
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import { instrumented } from '../../icl/telemetry/instrumented.ts'
import { noMetrics } from '../../icl/telemetry/metrics.ts'
import { submit } from '../icl/test-client.ts'
import { createTestIcl, joinNode, origin, type TestIcl } from '../icl/test-icl.ts'

type Recorded = {
  name: string
  readonly parentId: string | undefined
  readonly spanContext: SpanContext
  readonly attributes: Record<string, unknown>
  status: number
  ended: boolean
}

const recorded: Recorded[] = []
const hex = (length: number) =>
  [...crypto.getRandomValues(new Uint8Array(length))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')

/** The least that an SDK does: spans in a list, below the span of their context. */
function startSpan(
  name: string,
  options: SpanOptions = {},
  parent: Context = context.active(),
): Span {
  const above = trace.getSpanContext(parent)
  const span: Recorded = {
    name,
    parentId: above?.spanId,
    spanContext: { traceId: above?.traceId ?? hex(16), spanId: hex(8), traceFlags: 1 },
    attributes: { ...options.attributes },
    status: 0,
    ended: false,
  }
  recorded.push(span)
  const handle = {
    spanContext: () => span.spanContext,
    setAttribute: (key: string, value: unknown) => {
      span.attributes[key] = value
      return handle
    },
    updateName: (to: string) => {
      span.name = to
      return handle
    },
    setStatus: ({ code }: { code: number }) => {
      span.status = code
      return handle
    },
    end: () => {
      span.ended = true
    },
  }
  return handle as unknown as Span
}

const storage = new AsyncLocalStorage<Context>()
const manager: ContextManager = {
  active: () => storage.getStore() ?? ROOT_CONTEXT,
  with: (now, run, self, ...args) => storage.run(now, () => run.apply(self, args)),
  bind: (_, target) => target,
  enable: () => manager,
  disable: () => manager,
}

let icl: TestIcl
beforeAll(() => {
  context.setGlobalContextManager(manager)
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) as unknown as Tracer })
})
afterAll(() => {
  trace.disable()
  context.disable()
})
beforeEach(async () => {
  icl = await createTestIcl({ store: instrumented('store', createMemoryStore(), noMetrics) })
  for (const name of ['n1', 'n2', 'n3']) await joinNode(icl, name)
  recorded.length = 0
  icl.logged.length = 0
})
afterEach(() => icl.stop())

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'
const get = (path: string, traceparent?: string) =>
  icl.fetch(new Request(`${origin}${path}`, traceparent ? { headers: { traceparent } } : {}))

describe('traces', () => {
  it('have a span for each request, named by its operation, below that of the caller', async () => {
    const address = `0x${'12'.repeat(20)}`
    await get(`/v1/nodes/${address}`, `00-${traceId}-${spanId}-01`)
    const [request, store] = recorded
    expect(request).toMatchObject({ name: 'getNode', parentId: spanId, status: 0, ended: true })
    expect(request?.spanContext.traceId).toBe(traceId)
    expect(request?.attributes).toMatchObject({
      'http.request.method': 'GET',
      'http.route': '/v1/nodes/{address}',
      'http.response.status_code': 404,
    })
    expect(store).toMatchObject({
      name: 'store findNode',
      parentId: request?.spanContext.spanId,
      ended: true,
    })
  })

  it('go on without what is no trace, and mark what failed', async () => {
    for (const wrong of [
      'nonsense',
      `00-${'0'.repeat(32)}-${spanId}-01`,
      `ff-${traceId}-${spanId}-01`,
    ]) {
      recorded.length = 0
      await get('/nothing', wrong)
      expect(recorded[0]).toMatchObject({ name: 'unknown', parentId: undefined })
    }
    recorded.length = 0
    icl.chain.down = new Error('away')
    await get('/v1/models')
    expect(recorded[0]).toMatchObject({ name: 'getModels', status: 2 })
  })

  it('make no trace of background work', async () => {
    await icl.clock.advance(1_000)
    expect(recorded).toEqual([])
  })

  it('are named, with the request, in every log line of a request', async () => {
    await submit(icl)
    const lines = icl.logged.filter((line) => line.startsWith('job submitted'))
    expect(lines).toHaveLength(1)
    const { requestId, traceId: logged } = JSON.parse(lines[0]!.slice('job submitted '.length))
    expect(requestId).toMatch(/^[A-Za-z0-9_-]{12}$/)
    const span = recorded.find(({ name }) => name === 'submitJob')
    expect(logged).toBe(span?.spanContext.traceId)
    const ends = icl.logged.filter(
      (line) => line.startsWith('request ') && line.includes(requestId),
    )
    expect(ends).toHaveLength(1)
    expect(span?.attributes['svc.request_id']).toBe(requestId)
  })
})
