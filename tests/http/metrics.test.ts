import { execFileSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createStoredBlobs } from '../../icl/blobs/stored.ts'
import type { Dependencies } from '../../icl/dependencies.ts'
import { openAccess } from '../../icl/rules/access.ts'
import { createMachine } from '../../icl/start/machine.ts'
import { createPrometheus } from '../../icl/start/prometheus.ts'
import { instrumentedStore } from '../../icl/store/instrumented.ts'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import { instrumented } from '../../icl/telemetry/instrumented.ts'
import { endpoints } from '../../lib/endpoints.ts'
import { createFakeChain, type FakeChain } from '../icl/fake-chain.ts'
import { icl, startIcl } from '../icl/fresh-icl.ts'
import { runJob } from '../icl/run-job.ts'
import { submit } from '../icl/test-client.ts'
import { joinNodes, origin } from '../icl/test-icl.ts'
import { createVirtualClock } from '../virtual-clock.ts'

async function start(changes: Partial<Dependencies> = {}) {
  const metrics = createPrometheus(createMachine(() => {}).figures)
  const store = instrumented('store', createMemoryStore(), metrics)
  await startIcl({ metrics, store, ...changes })
  const nodes = await joinNodes(icl, 3)
  return nodes
}

/** Samples by their name and labels; two seconds pass, so that nothing is remembered. */
async function scrape(headers: Record<string, string> = {}) {
  await icl.clock.advance(2_000)
  const response = await icl.fetch(new Request(`${origin}/metrics`, { headers }))
  const text = await response.text()
  const samples = new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const at = line.lastIndexOf(' ')
        return [line.slice(0, at), Number(line.slice(at + 1))] as const
      }),
  )
  return { response, text, samples }
}

describe('the metrics', () => {
  it('count requests by operation and status, and time them', async () => {
    await start()
    await icl.fetch(new Request(`${origin}/v1/nodes/0x12`))
    const { samples, response } = await scrape()
    expect(response.headers.get('content-type')).toBe(endpoints.getMetrics.response.contentType)
    expect(samples.get('svc_icl_requests_total{operation="getNode",status="400"}')).toBe(1)
    expect(samples.get('svc_icl_requests_total{operation="postHeartbeat",status="200"}')).toBe(3)
    expect(samples.get('svc_icl_request_seconds_count{operation="postHeartbeat"}')).toBe(3)
  })

  it('show the parts of each room for blobs', async () => {
    const blobs = createStoredBlobs(createMemoryStore(), 2_000, createVirtualClock())
    await start({ blobs })
    const put = (cid: string, usedUntil: number) => {
      const keep = { until: Number.MAX_SAFE_INTEGER, usedUntil }
      return blobs.put(cid, new Uint8Array(200), { ...keep, uploader: 'wallet' })
    }
    await put('unused', 0)
    await put('used', Number.MAX_SAFE_INTEGER)
    const { samples } = await scrape()
    const parts = ['free', 'unused', 'used'].map((part) =>
      samples.get(`svc_icl_blob_room_bytes{uploader="wallet",part="${part}"}`),
    )
    expect(parts).toEqual([600, 200, 200])
  })

  it('have no label that a caller can make up', async () => {
    const [node] = await start()
    for (let count = 0; count < 20; count++) {
      await icl.fetch(new Request(`${origin}/made-up/${count}`))
      await icl.fetch(new Request(`${origin}/health`, { method: 'DELETE' }))
      await icl.fetch(new Request(`${origin}/v1/nodes/0x${String(count).padStart(40, '0')}`))
    }
    const { samples, text } = await scrape()
    expect(samples.get('svc_icl_requests_total{operation="unknown",status="404"}')).toBe(20)
    expect(samples.get('svc_icl_requests_total{operation="unknown",status="405"}')).toBe(20)
    expect(text).not.toContain('made-up')
    expect(text).not.toContain(node!.address)
    const operations = [...text.matchAll(/operation="(\w+)"/g)].map(([, name]) => name!)
    for (const name of operations) expect([...Object.keys(endpoints), 'unknown']).toContain(name)
  })

  it('show jobs, nodes and the outbox as the store has them', async () => {
    await start()
    await submit(icl, { commit: false })
    const { samples } = await scrape()
    expect(samples.get('svc_icl_store_up')).toBe(1)
    expect(samples.get('svc_icl_jobs{phase="open"}')).toBe(1)
    expect(samples.get('svc_icl_nodes{backend="mock",tier="0"}')).toBe(3)
    expect(samples.get('svc_icl_outbox_effects')).toBe(3)
    expect(samples.get('svc_icl_outbox_oldest_seconds')).toBeGreaterThanOrEqual(0)
    expect(samples.get('svc_icl_degraded_reasons')).toBe(1)
    expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(1_000_000)
  })

  it('show the open files and their limit, as far as the host says them', async () => {
    await start()
    const open = async () => (await scrape()).samples.get('process_open_fds') ?? 0
    const before = await open()
    const { samples } = await scrape()
    expect(samples.get('process_max_fds')).toBe(
      Number(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' })),
    )
    const files = Array.from({ length: 50 }, () => openSync(import.meta.filename, 'r'))
    const after = await open()
    for (const file of files) closeSync(file)
    expect(after - before).toBeGreaterThan(40)
    const { figures } = createMachine(() => {})
    if (!figures) throw new Error('a machine has figures')
    const unknown = { openFiles: () => undefined, openFilesLimit: () => undefined }
    await icl.stop()
    await startIcl({ metrics: createPrometheus({ ...figures, ...unknown }) })
    expect((await scrape()).text).not.toMatch(/^process_(open|max)_fds/m)
  })

  it('tell an empty pool from one that is not known', async () => {
    await start()
    await icl.clock.advance(600_000)
    const ofNodes = async () =>
      [...(await scrape()).samples].filter(([name]) => name.startsWith('svc_icl_nodes'))
    expect(await ofNodes()).toEqual([
      ['svc_icl_nodes{backend="mock",tier="0"}', 0],
      ['svc_icl_nodes{backend="tpm",tier="0"}', 0],
    ])
    await joinNodes(icl, 1, 4)
    icl.chain.down = new Error('away')
    expect(await ofNodes()).toEqual([])
  })

  it('leave out what does not answer, and still come', async () => {
    const store = createMemoryStore()
    const away = Object.assign(Object.create(store), {
      stats: () => Promise.reject(new Error('away')),
    })
    await start({ store: away })
    icl.chain.down = new Error('away')
    const { samples, response } = await scrape()
    expect(response.status).toBe(200)
    expect(samples.get('svc_icl_store_up')).toBe(0)
    // The store is in memory, and the chain is away.
    expect(samples.get('svc_icl_degraded_reasons')).toBe(2)
    expect([...samples.keys()].filter((name) => /^svc_icl_(jobs|nodes|outbox)/.test(name))).toEqual(
      [],
    )
  })

  it('time the store and the chain by method, failures apart', async () => {
    const metrics = createPrometheus()
    const fake: FakeChain = createFakeChain()
    await start({ metrics, store: instrumented('store', createMemoryStore(), metrics) })
    const chain = instrumented('chain', fake, metrics)
    await chain.ping()
    fake.down = new Error('away')
    await expect(chain.ping()).rejects.toThrow('away')
    expect(chain.coordinator).toBe(fake.coordinator)
    const { samples } = await scrape()
    const count = (labels: string) => samples.get(`svc_icl_call_seconds_count{${labels}}`)
    expect(count('port="chain",method="ping",outcome="ok"')).toBe(1)
    expect(count('port="chain",method="ping",outcome="error"')).toBe(1)
    expect(count('port="store",method="findNode",outcome="ok"')).toBeGreaterThan(3)
  })

  it('time no call of a store in memory', async () => {
    const metrics = createPrometheus()
    await start({ metrics, store: instrumentedStore(createMemoryStore(), metrics) })
    const { samples } = await scrape()
    expect([...samples.keys()].filter((name) => name.includes('port="store"'))).toEqual([])
  })

  it('count the phases that jobs went through', async () => {
    const nodes = await start()
    await runJob(icl, nodes, ['yes', 'yes', 'yes'])
    const { samples } = await scrape()
    const changes = (from: string, to: string) =>
      samples.get(`svc_icl_job_phase_changes_total{from="${from}",to="${to}"}`)
    expect([changes('open', 'running'), changes('running', 'accepted')]).toEqual([1, 1])
    expect(samples.get('svc_icl_job_phase_seconds_count{phase="running"}')).toBe(1)
  })

  it('count what a job came to by its rule: who joined, who differed, what was delivered', async () => {
    const nodes = [...(await start()), ...(await joinNodes(icl, 1, 4))]
    await runJob(icl, nodes, ['yes', 'yes', 'no', 'yes'])
    const { samples } = await scrape()
    expect({
      settled: samples.get('svc_icl_settled_jobs_total{rule="three",phase="accepted"}'),
      joined: samples.get('svc_icl_joined_seats_total{rule="three"}'),
      deliveries: samples.get('svc_icl_deliveries_total{outcome="settled"}'),
      dissents: samples.get('svc_icl_dissenting_answers_total{rule="three"}'),
      lists: samples.get('svc_icl_requests_total{operation="drawList",status="200"}'),
    }).toEqual({ settled: 1, joined: 1, deliveries: 1, dissents: 1, lists: 1 })
  })

  it('say nothing of a job before it has settled', async () => {
    await start()
    await submit(icl, { commit: false })
    const { text } = await scrape()
    expect(text).not.toMatch(/^svc_icl_(settled|passed|joined|deliveries|dissenting)\w*\{/m)
  })

  it('show long-polls and event streams while they are open', async () => {
    const [node] = await start()
    const job = await submit(icl, { commit: false })
    const waiting = node!.api.getAssignments(
      { params: { address: node!.address }, query: { wait: 30 } },
      { timeoutMs: 60_000 },
    )
    const events = await icl.fetch(
      new Request(`${origin}/v1/inference/${job.jobId}/events`, {
        headers: { authorization: `Bearer ${job.readToken}` },
      }),
    )
    const reader = events.body!.getReader()
    await reader.read()
    const open = await scrape()
    expect(open.samples.get('svc_icl_held_requests{kind="poll"}')).toBe(1)
    expect(open.samples.get('svc_icl_held_requests{kind="events"}')).toBe(1)
    await reader.cancel()
    await icl.clock.until(waiting)
    const closed = await scrape()
    expect(closed.samples.get('svc_icl_held_requests{kind="poll"}')).toBe(0)
    expect(closed.samples.get('svc_icl_held_requests{kind="events"}')).toBe(0)
  })

  it('ask for the token of the operator, if there is one', async () => {
    const metricsToken = 'the token of the operator'
    await start({ access: { ...openAccess, metricsToken } })
    for (const headers of [
      {},
      { authorization: 'Bearer the token' },
      { authorization: metricsToken },
    ]) {
      const { response, text } = await scrape(headers as Record<string, string>)
      expect([response.status, JSON.parse(text).code]).toEqual([401, 'token-invalid'])
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
    }
    const { response, samples } = await scrape({ authorization: `Bearer ${metricsToken}` })
    expect(response.status).toBe(200)
    expect(samples.size).toBeGreaterThan(10)
  })
})
