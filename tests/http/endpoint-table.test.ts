import { afterAll, describe, expect, it } from 'vitest'
import { createApp } from '../../icl/app.ts'
import { openAccess } from '../../icl/rules/access.ts'
import { listen } from '../../icl/start/listen.ts'
import { type Endpoint, rawBytes } from '../../lib/endpoint.ts'
import { endpoints, maxBlobBytes, maxBodyBytes, type OperationId } from '../../lib/endpoints.ts'
import { type RequestSigner, signedHeaders } from '../../lib/request-signature.ts'
import { systemRandom } from '../../lib/system.ts'
import { codeOf } from '../code-of.ts'
import { createTestIcl } from '../icl/test-icl.ts'
import { bodiesOf, createActors, pathsOf, wrongKeyOf } from './endpoint-actors.ts'
import { type Attempt, attempts, expected } from './endpoint-table.ts'

const metricsToken = 'metrics-token-of-the-operator'
const cells = new Map<string, string>()
const leaks: string[] = []

type Sent = {
  readonly path: string
  readonly body?: Uint8Array<ArrayBuffer> | undefined
  readonly signer?: RequestSigner | undefined
  readonly age?: number
  readonly headers?: Record<string, string>
}

/** The request as it goes over the wire: its address is the test's, its signature is for the ICL's public one. */
async function build(endpoint: Endpoint, how: Sent): Promise<() => Promise<Response>> {
  const { method } = endpoint
  const type = endpoint.body === rawBytes ? 'application/octet-stream' : 'application/json'
  const headers = new Headers({ ...(how.body && { 'content-type': type }), ...how.headers })
  const url = new URL(how.path, icl.deps.network.public_url)
  const moment = {
    created: Math.floor(icl.clock.now() / 1000) - (how.age ?? 0),
    nonce: systemRandom.bytes(16),
  }
  const all = how.signer
    ? await signedHeaders({ method, url, headers, body: how.body }, how.signer, moment)
    : headers
  const target = `http://127.0.0.1:${server.port}${how.path}`
  const body = how.body && { body: how.body }
  return () => fetch(target, { method, headers: all, redirect: 'error', ...body })
}

async function read(response: Response, how: Sent): Promise<string> {
  if (response.headers.get('content-type') === 'text/event-stream') {
    await response.body?.cancel()
    return String(response.status)
  }
  const text = await response.text()
  expect(response.headers.get('x-request-id')).toMatch(/^[A-Za-z0-9_-]{12}$/)
  if (response.ok) return String(response.status)
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  noteLeaks(text, how)
  return `${response.status} ${JSON.parse(text).code}`
}

/** Nothing of the machine, of others or of secrets may stand in an error; what the request itself said may. */
function noteLeaks(text: string, how: Sent): void {
  const inside = /\bat \S+ \(|\.ts\b|node_modules|\/(work|home|tmp|root|usr)\b|Error:/.exec(text)
  const said = `${how.path} ${how.body ? new TextDecoder().decode(how.body) : ''} ${how.signer?.address}`
  const addresses = (text.match(/0x[0-9a-f]{40}(?![0-9a-f])/g) ?? []).filter(
    (address) => !said.toLowerCase().includes(address),
  )
  const secrets = actors.secrets.filter((secret) => text.includes(secret))
  for (const found of [...(inside ?? []), ...addresses, ...secrets]) {
    leaks.push(`${how.path}: ${found}`)
  }
}

/** The jobs as the store has them: what a replay must leave as it is. */
async function stateOf() {
  const { job, spareJob, otherJob } = actors
  await icl.clock.advance(0)
  return Promise.all([job, spareJob, otherJob].map(({ jobId }) => icl.deps.store.findJob(jobId)))
}

async function attempt(id: OperationId, kind: Attempt): Promise<string> {
  const endpoint: Endpoint = endpoints[id]
  const path = pathsOf(actors)[id]
  const bodies = bodiesOf(actors)[id]
  const own = await actors.signerOf(id)
  const bearer = { authorization: `Bearer ${metricsToken}` }
  const headers = id === 'getMetrics' ? bearer : {}
  const good = async (): Promise<Sent> => ({
    path: path.good,
    body: await bodies?.good(),
    signer: own,
    headers,
  })
  const send = async (how: Sent) => read(await (await build(endpoint, how))(), how)
  switch (kind) {
    case 'unsigned':
      return send({ ...(await good()), signer: undefined, headers: {} })
    case 'wrong key': {
      const headers = id === 'getMetrics' ? { authorization: 'Bearer wrong' } : {}
      return send({ ...(await good()), signer: own && (await wrongKeyOf(own)), headers })
    }
    case 'expired':
      return id === 'getMetrics' ? '-' : send({ ...(await good()), age: 3_600 })
    case "another's": {
      const other = await actors.anothers(id)
      return other ? send({ ...(await good()), ...other }) : '-'
    }
    case 'replayed': {
      const how = await good()
      const replay = await build(endpoint, how)
      await read(await replay(), how)
      const before = await stateOf()
      const answer = await read(await replay(), how)
      expect([id, await stateOf()]).toEqual([id, before])
      return answer
    }
    case 'malformed':
      return send({ ...(await good()), path: path.malformed, body: bodies?.malformed })
    case 'over-size': {
      if (!bodies) return send({ ...(await good()), path: `${path.good}?${'x'.repeat(5_000)}` })
      const most = endpoint.body === rawBytes ? maxBlobBytes : maxBodyBytes
      return send({ ...(await good()), body: new Uint8Array(most + 1) })
    }
  }
}

const icl = await createTestIcl({ access: { ...openAccess, metricsToken } })
const server = listen(createApp(icl.deps), { hostname: '127.0.0.1', port: 0 })
const actors = await createActors(icl)
// The order is that of a job's life, so that a good request of each kind finds the job ready for it.
for (const id of actors.order) {
  for (const kind of attempts) cells.set(`${id} ${kind}`, await attempt(id, kind))
}

afterAll(async () => {
  await server.stop(true)
  await icl.stop()
})

describe('every endpoint against every kind of wrong request', () => {
  it('is in the table', () => {
    expect(new Set(actors.order)).toEqual(new Set(Object.keys(endpoints)))
    expect(new Set(Object.keys(expected))).toEqual(new Set(Object.keys(endpoints)))
  })

  it('answers as the table says', () => {
    const ids = Object.keys(expected) as OperationId[]
    const seen = ids.map((id) => [id, ...attempts.map((kind) => cells.get(`${id} ${kind}`) ?? '?')])
    const rows = [['', ...attempts], ...seen]
    const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
    const lines = rows.map((row) => row.map((cell, at) => cell.padEnd(widths[at]!)).join('  '))
    process.stdout.write(`${lines.join('\n')}\n`)
    expect(seen).toEqual(ids.map((id) => [id, ...attempts.map((kind) => expected[id][kind])]))
  })

  it('never fails inside, and no refusal shows anything of others or of the machine', () => {
    expect([...cells].filter(([, cell]) => cell.startsWith('5'))).toEqual([])
    expect(leaks).toEqual([])
    noteLeaks('{"detail":"TypeError: x at foo (/work/icl/app.ts:3:1)"}', { path: '/' })
    noteLeaks(`{"detail":"node 0x${'ab'.repeat(20)} has left"}`, { path: '/' })
    expect(leaks.length).toBeGreaterThan(1)
    leaks.length = 0
  })

  it('shows another client none of the jobs that are not its own', async () => {
    for (const { api, jobId } of [actors.job, actors.otherJob]) {
      expect((await api.listJobs({ query: {} })).jobs.map((job) => job.jobId)).toEqual([jobId])
    }
  })

  it('does not tell a node without a part what a job is about', async () => {
    const { outsider, answers } = actors
    const { api } = outsider
    const guess = { ...(await answers.answer()), model_id: 'openai:guess' }
    expect(await codeOf(api.revealAnswer({ body: guess }))).toBe('not-assigned')
    expect(await codeOf(api.postResult({ body: await answers.result() }))).toBe('not-assigned')
    expect(await codeOf(api.postVerdict({ body: await answers.verdict() }))).toBe('not-assigned')
  })

  it('names each way to authenticate in a 401', async () => {
    const schemes = { getJob: 'Signature, Bearer', listJobs: 'Signature', getMetrics: 'Bearer' }
    for (const [id, scheme] of Object.entries(schemes)) {
      const path = pathsOf(actors)[id as OperationId].good
      const response = await (await build(endpoints[id as OperationId], { path }))()
      const named = response.headers.get('www-authenticate')
      expect([id, response.status, named]).toEqual([id, 401, scheme])
    }
  })

  it('does not let the read token of one job read another', async () => {
    for (const id of ['getJob', 'followJob', 'getReceipt', 'getRecord', 'cancelJob'] as const) {
      const how = {
        path: pathsOf(actors)[id].good,
        headers: { authorization: `Bearer ${actors.otherJob.readToken}` },
      }
      const answer = await read(await (await build(endpoints[id], how))(), how)
      expect([id, answer]).toEqual([id, '401 token-invalid'])
    }
  })
})
