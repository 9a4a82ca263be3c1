import { describe, expect, it } from 'vitest'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import type { Store, StoreStatus } from '../../icl/store/store.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { icl, startIcl } from '../icl/fresh-icl.ts'
import { nodeA } from '../icl/rules/sample-job.ts'
import { origin } from '../icl/test-icl.ts'

/** A store that says how it is as a test wants it. */
async function startWith(status: Partial<StoreStatus>, ping: () => Promise<void> = async () => {}) {
  const memory = createMemoryStore()
  const told: Partial<Store> = {
    status: () => ({ connected: true, writable: true, reasons: [], ...status }),
    ping,
  }
  await startIcl({ store: Object.assign(Object.create(memory), told) })
}

async function probe(path: string) {
  const response = await icl.clock.until(icl.fetch(new Request(`${origin}${path}`)))
  return { status: response.status, headers: response.headers, body: await response.json() }
}

describe('the probes', () => {
  it('say that all is well', async () => {
    await startWith({})
    expect(await probe('/livez')).toMatchObject({ status: 200, body: { status: 'ok' } })
    expect(await probe('/readyz')).toMatchObject({
      status: 200,
      body: { ready: true, reasons: [] },
    })
    expect((await probe('/health')).body).toEqual({
      status: 'ok',
      chain_connected: true,
      mongo_connected: true,
    })
  })

  it('stay ready while the ICL goes on without its database or the chain, and say why it is degraded', async () => {
    await startWith({ connected: false, reasons: ['the database is away: going on in memory'] })
    icl.chain.down = new Error('away')
    const { status, body } = await probe('/readyz')
    expect(status).toBe(200)
    expect(body.reasons).toEqual([
      'the database is away: going on in memory',
      expect.stringContaining('the chain does not respond'),
    ])
    expect(await probe('/health')).toMatchObject({
      status: 200,
      body: { status: 'ok', chain_connected: false, mongo_connected: false },
    })
  })

  it('name a room for blobs that is short or closed', async () => {
    await startWith({})
    const put = (name: string, usedUntil: number) => {
      const keep = { until: Number.MAX_SAFE_INTEGER, usedUntil }
      const bytes = new Uint8Array(1_900_000)
      return icl.deps.blobs.put(name, bytes, { ...keep, uploader: 'wallet' })
    }
    const reasons = async () => {
      await icl.clock.advance(60_000)
      const { status, body } = await probe('/readyz')
      return [status, ...body.reasons]
    }
    await put('one', 0)
    expect(await reasons()).toEqual([200])
    await put('two', 0)
    const room = 'room for prompts: 0.4 MiB of 4.0 MiB are free'
    expect(await reasons()).toEqual([200, `${room}, then the oldest are dropped`])
    for (const name of ['three', 'four']) await put(name, Number.MAX_SAFE_INTEGER)
    const closed = 'the rest is in use, and uploads are refused'
    expect(await reasons()).toEqual([200, `${room}, ${closed}`])
  })

  it('turn red when saves cannot be taken, with the reasons', async () => {
    await startWith({ writable: false, reasons: ['another replica writes'] })
    const { status, body, headers } = await probe('/readyz')
    expect([status, body.code]).toEqual([503, 'unavailable'])
    expect(body.detail).toContain('the store takes no saves; another replica writes')
    expect(headers.get('retry-after')).toBe('1')
    expect((await probe('/livez')).status).toBe(200)
    const health = await probe('/health')
    expect([health.status, health.headers.get('retry-after')]).toEqual([503, '1'])
    expect(health.headers.get('content-type')).toBe('application/json')
    expect(health.body).toEqual({
      status: 'unavailable',
      chain_connected: true,
      mongo_connected: true,
    })
    expect(await icl.api().getHealth()).toEqual(health.body)
  })

  it('turn red when the store does not respond, or not in time', async () => {
    await startWith({}, () => Promise.reject(new Error('secret address')))
    const failing = await probe('/readyz')
    expect(failing).toMatchObject({ status: 503 })
    expect(JSON.stringify(failing.body)).not.toContain('secret')
    await icl.stop()
    await startWith({}, () => new Promise(() => {}))
    expect(await probe('/readyz')).toMatchObject({ status: 503 })
    expect((await probe('/health')).body.mongo_connected).toBe(false)
  })

  it('turn red when the process is stopping', async () => {
    await startWith({})
    icl.deps.notifier.close()
    const { status, body } = await probe('/readyz')
    expect([status, body.detail]).toEqual([503, 'the ICL is stopping'])
  })

  it('answer soon from what is known when something hangs', async () => {
    let ping = (): Promise<void> => Promise.resolve()
    await startWith({}, () => ping())
    expect((await probe('/readyz')).status).toBe(200)
    ping = () => new Promise(() => {})
    await icl.clock.advance(1_000)
    const before = icl.clock.now()
    expect((await probe('/readyz')).status).toBe(200)
    expect(icl.clock.now() - before).toBeLessThan(1_000)
    await icl.clock.advance(2_000)
    expect((await probe('/readyz')).status).toBe(503)
  })

  it('give no answer that is older than a few seconds, when something hangs after a pause', async () => {
    let ping = (): Promise<void> => Promise.resolve()
    await startWith({}, () => ping())
    expect((await probe('/readyz')).body).toMatchObject({ ready: true, reasons: [] })
    ping = () => new Promise(() => {})
    icl.chain.ping = () => new Promise(() => {})
    await icl.clock.advance(8_000)
    const before = icl.clock.now()
    expect((await probe('/health')).body).toEqual({
      status: 'unavailable',
      chain_connected: false,
      mongo_connected: false,
    })
    const { status, body } = await probe('/readyz')
    expect([status, body.detail]).toEqual([
      503,
      expect.stringContaining('the store does not respond'),
    ])
    expect(icl.clock.now() - before).toBeLessThan(2_000)
  })

  it('say when the contracts could not be checked for long', async () => {
    await startWith({})
    expect((await probe('/readyz')).body.reasons).toEqual([])
    icl.chain.findFaults = () => new Promise(() => {})
    await icl.clock.advance(60_000)
    expect((await probe('/readyz')).body.reasons).toEqual([
      'the contracts have not been checked: the check hangs or fails',
    ])
  })

  it('ask chain and store once, however many ask them', async () => {
    let pings = 0
    await startWith({}, async () => {
      pings += 1
    })
    await Promise.all(Array.from({ length: 50 }, () => icl.fetch(new Request(`${origin}/readyz`))))
    expect(pings).toBe(1)
  })
})

it('a record that cannot be read is said to be one, to whom asks for it and in the log', async () => {
  const refusal = new SvcError('store-corrupt', 'The database holds a node that cannot be read', {
    hint: 'Restore the last backup.',
  })
  const findNode = () => Promise.reject(refusal)
  await startIcl({
    store: Object.assign(Object.create(createMemoryStore()), { findNode }),
  })
  const { status, body } = await probe(`/v1/nodes/${nodeA}`)
  expect([status, body.code]).toEqual([500, 'internal-error'])
  expect(body.detail).toMatch(/cannot be read.*operator has to restore/)
  expect(icl.logged.filter((line) => line.includes('Restore the last backup'))).toHaveLength(1)
})
