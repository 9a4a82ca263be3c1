import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { programOf } from '../../demo/runtime-programs.ts'
import { openApiDocument } from '../../icl/docs/openapi.ts'
import { openSqliteStore } from '../../icl/store/sqlite/file.ts'
import { version } from '../../icl/version.ts'
import { readServerEvents } from '../../lib/client/event-stream.ts'
import { sha256Hex } from '../../lib/digest.ts'
import { maxBlobBytes } from '../../lib/endpoints.ts'
import { Problem } from '../../lib/problem.ts'
import { receiptHash, verifyReceipt } from '../../lib/receipt.ts'
import { JobEvent } from '../../lib/schemas/jobs.ts'
import { systemClock } from '../../lib/system.ts'
import { eventually } from '../eventually.ts'
import { wrongKeyOf } from '../http/endpoint-actors.ts'
import { createSoftwareTpm } from '../icl/attestation/software-tpm.ts'
import { createVendor } from '../icl/attestation/tpm-vendor.ts'
import { beat, origin } from '../icl/test-icl.ts'
import { runStoreSuite } from './inside/runtimes.ts'
import { openStream, sendHalf, statusFor } from './rude-clients.ts'
import { dealWith, type RunningIcl } from './running-icl.ts'
import { pageOrigin } from './world.ts'

/** Something that an ICL has to do, whatever it runs on; it throws when it does not, and may say what it measured. */
export type Check = {
  readonly name: string
  readonly run: (icl: RunningIcl) => Promise<string | undefined>
}

const does = (name: string, run: Check['run']): Check => ({ name, run })

const idleMs = 30_000

async function problemOf(response: Response) {
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  const problem = Problem.parse(await response.json())
  expect(problem.status).toBe(response.status)
  return problem.code
}

/** The events of the job from a stream, to its end. */
async function eventsOf(icl: RunningIcl, lastEventId?: string): Promise<readonly JobEvent[]> {
  const { api, jobId, readToken } = await icl.awaitedJob()
  const response = await api.followJob(
    { params: { jobId } },
    { readToken, timeoutMs: idleMs, ...(lastEventId !== undefined && { lastEventId }) },
  )
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const events: JobEvent[] = []
  for await (const { id, data } of readServerEvents(response, { clock: systemClock, idleMs })) {
    const event = JobEvent.parse(JSON.parse(data))
    expect(id).toBe(String(event.seq))
    events.push(event)
  }
  return events
}

/** What the table of runtimes shows, in its order: each check may rely on those before it. */
export const checks: readonly Check[] = [
  does('health', async ({ ask }) => {
    expect(await (await ask('/livez')).json()).toEqual({ status: 'ok' })
    const ready = await ask('/readyz')
    expect(ready.status).toBe(200)
    expect(await ready.json()).toMatchObject({ ready: true })
    expect(await (await ask('/')).json()).toMatchObject({ ready: true, public_url: origin })
    const page = await ask('/', { headers: { accept: 'text/html' } })
    expect(await page.text()).toContain('<h2 id="ask">')
    expect(page.headers.get('content-security-policy')).toContain("style-src 'sha256-")
    const metrics = await (await ask('/metrics')).text()
    expect(metrics).toMatch(/^svc_icl_store_up 1$/m)
    expect(metrics).toMatch(/^svc_icl_requests_total\{operation="getReadiness".*\} [1-9]/m)
    return undefined
  }),
  does('signed POST', async (icl) => {
    const [node] = await icl.nodes()
    if (!node) throw new Error('there is no node')
    await beat(icl.outside, node)
    const forger = { ...node, api: icl.outside.api(await wrongKeyOf(node.signer)) }
    await expect(beat(icl.outside, forger)).rejects.toMatchObject({ status: 401 })
    return undefined
  }),
  does('long-poll', async (icl) => {
    const { waits } = await icl.awaitedJob()
    // Woken by the job: without it they would have waited for half a minute.
    expect(Math.max(...waits)).toBeLessThan(20_000)
    return `${Math.max(...waits)} ms`
  }),
  does('SSE', async (icl) => {
    const live = eventsOf(icl)
    live.catch(() => {})
    await icl.work()
    const events = await live
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    expect(events.at(-1)?.phase).toBe('accepted')
    const middle = Math.floor(events.length / 2)
    expect(await eventsOf(icl, String(middle))).toEqual(events.slice(middle))
    return `${events.length} events`
  }),
  does('TPM verification', async (icl) => {
    const node = await icl.tpmNode()
    await node.join()
    await node.renew()
    const stranger = await createSoftwareTpm(await createVendor(Date.now()), Date.now())
    const { nonce } = await node.challenge()
    const forged = node.request(nonce, new Uint8Array(), {}, stranger)
    await expect(node.api.verifyAttestation({ body: await forged })).rejects.toMatchObject({
      code: 'quote-signature-invalid',
    })
    return undefined
  }),
  does('receipt check', async (icl) => {
    await icl.work()
    const { api, jobId, readToken } = await icl.awaitedJob()
    const path = { params: { jobId } }
    const receipt = await api.getReceipt(path, { readToken })
    const iclKeys = (await api.getJwks()).keys.map(({ x }) => x)
    await verifyReceipt(receipt, { iclKeys })
    const view = await api.getJob(path, { readToken })
    expect(await receiptHash(receipt)).toBe(view.receipt_hash!)
    const changed = { ...receipt, prompt_cid: receipt.delivery.body.output_cid }
    await expect(verifyReceipt(changed, { iclKeys })).rejects.toMatchObject({
      code: 'receipt-invalid',
    })
    return undefined
  }),
  does('openapi', async ({ ask }) => {
    const bytes = new Uint8Array(await (await ask('/openapi.json')).arrayBuffer())
    const expected = new TextEncoder().encode(JSON.stringify(openApiDocument(version, origin)))
    expect(bytes.length).toBe(expected.length)
    expect(bytes).toEqual(expected)
    return (await sha256Hex(bytes)).slice(2, 10)
  }),
  does('refusals', async ({ ask, nodes, process }) => {
    expect(await problemOf(await ask('/v1/nothing'))).toBe('not-found')
    // Neither a host that holds a path nor one that is none may lead elsewhere than the path that a proxy has looked at.
    for (const host of ['icl.test/metrics?', 'icl.test/metrics#', 'icl.test\\metrics?', 'a b']) {
      expect([400, 404]).toContain(await statusFor(process.url, '/v1/nothing', host))
    }
    const head = await ask('/livez', { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length')]).toEqual([200, null])
    const wrong = await ask('/livez', { method: 'DELETE' })
    expect(wrong.headers.get('allow')).toBe('GET, HEAD')
    expect(await problemOf(wrong)).toBe('method-not-allowed')
    const headers = { 'content-type': 'application/json' }
    const post = (body: string) => ask('/internal/heartbeat', { method: 'POST', headers, body })
    expect((await post('{}')).status).toBe(401)
    const [node] = await nodes()
    const large = new Uint8Array(maxBlobBytes + 1)
    await expect(node?.api.putBlob({ query: {}, body: large })).rejects.toMatchObject({
      code: 'body-too-large',
      status: 413,
    })
    const long = await ask('/livez', { headers: { 'x-long': 'x'.repeat(9_000) } })
    expect(await problemOf(long)).toBe('headers-too-large')
    return undefined
  }),
  does('other origins', async ({ ask }) => {
    const allowed = async (path: string, origin: string, method = 'GET') => {
      const headers = { origin, 'access-control-request-method': 'POST' }
      const response = await ask(path, { method, headers })
      await response.body?.cancel()
      return [response.status, response.headers.get('access-control-allow-origin')]
    }
    expect(await allowed('/v1/inference', pageOrigin, 'OPTIONS')).toEqual([204, pageOrigin])
    expect(await allowed('/v1/inference', pageOrigin)).toEqual([401, pageOrigin])
    expect(await allowed('/v1/inference', `${pageOrigin}:81`)).toEqual([401, null])
    expect(await allowed('/livez', pageOrigin)).toEqual([200, null])
    return undefined
  }),
  does('rude clients', async (icl) => {
    await sendHalf(icl.process.url)
    const held = async () => {
      const metrics = await (await icl.ask('/metrics')).text()
      return Number(/^svc_icl_held_requests\{kind="events"\} (\d+)$/m.exec(metrics)?.[1])
    }
    const leave = await openStream(icl)
    expect(await held()).toBe(1)
    leave()
    // Where a host does not tell that a caller has gone, the next comment on the stream does.
    const since = performance.now()
    await eventually('the end of what was held', async () =>
      (await held()) === 0 ? true : undefined,
    )
    const seconds = (performance.now() - since) / 1000
    expect((await icl.ask('/livez')).status).toBe(200)
    return `${seconds.toFixed(1)} s`
  }),
]

/** What the table shows of an ICL that keeps everything in the storage of its Durable Object. */
export const objectChecks: readonly Check[] = [
  does('store suite', async () => {
    const results = await runStoreSuite(programOf('workerd') ?? '')
    expect(results.filter(({ error }) => error !== undefined)).toEqual([])
    const suite = await readFile(new URL('../store/suite.ts', import.meta.url), 'utf8')
    // Twice, and three tests of its own.
    expect(results).toHaveLength(2 * (suite.match(/^ *it\(/gm) ?? []).length + 3)
    return `${results.length} tests`
  }),
  does('kill -9', async ({ world }) => {
    const own = { SVC_ICL_DATABASE_URL: '' }
    const killed = await world.start('workerd', own, 'icl-killed')
    const icl = dealWith(world, 'workerd', killed)
    const { api, jobId, readToken } = await icl.awaitedJob()
    killed.process.kill('SIGKILL')
    await killed.process.exited
    // Commands of the operator work on its file, while workerd does not run.
    const folder = join(killed.command.args.at(-1)?.split('=')[1] ?? '', 'svc-icl')
    const file = (await readdir(folder)).find((name) => /^[0-9a-f]{64}\.sqlite$/.test(name))
    const store = await openSqliteStore(join(folder, file ?? ''), { guest: true })
    expect(await store.findJob(jobId)).toBeDefined()
    await store.close()
    const again = world.startAgain(killed)
    try {
      // Without a request: the alarm that it had set starts it.
      const since = performance.now()
      await eventually('the start by the alarm', async () => {
        const log = await readFile(again.logFile, 'utf8')
        return log.split('"ICL started"').length === 3 || undefined
      })
      const seconds = (performance.now() - since) / 1000
      expect((await api.getJob({ params: { jobId } }, { readToken })).status).toBe('open')
      await icl.work()
      expect((await api.getJob({ params: { jobId } }, { readToken })).status).toBe('accepted')
      return `${seconds.toFixed(1)} s`
    } finally {
      await world.processes.stop([again])
    }
  }),
]
