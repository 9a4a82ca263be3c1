import { describe, expect, it } from 'vitest'
import { createApp } from '../../icl/app.ts'
import { openAccess } from '../../icl/rules/access.ts'
import { type Api, createApi } from '../../lib/api.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { RequestSigner } from '../../lib/request-signature.ts'
import type { RateName } from '../../lib/schemas/network.ts'
import { systemRandom } from '../../lib/system.ts'
import { codeOf } from '../code-of.ts'
import { icl, startIcl } from '../icl/fresh-icl.ts'
import { storedKey, submit } from '../icl/test-client.ts'
import { joinNode, modelId, origin, walletOf } from '../icl/test-icl.ts'

/** The same ICL with limits, called from an address. */
async function limited(names: readonly RateName[], requests = 3) {
  await startIcl()
  for (const name of ['n1', 'n2', 'n3']) await joinNode(icl, name)
  const rates = Object.fromEntries(names.map((name) => [name, { requests, seconds: 60 }]))
  const app = createApp({ ...icl.deps, access: { ...openAccess, rates } })
  const from = (peerAddress: string) => async (request: Request) =>
    app.fetch(request, { peerAddress })
  const api = (peerAddress: string, signer?: RequestSigner): Api =>
    createApi({
      baseUrl: origin,
      fetch: from(peerAddress),
      clock: icl.clock,
      random: systemRandom,
      ...(signer && { signer }),
    })
  return { from, api }
}

const get = (path: string, headers: Record<string, string> = {}) =>
  new Request(`${origin}${path}`, { headers })

describe('limits of requests', () => {
  it('count unsigned ones by address, and say when to come back', async () => {
    const { from } = await limited(['address'])
    const statuses: number[] = []
    for (let count = 0; count < 4; count++) {
      statuses.push((await from('192.0.2.1')(get('/v1/models'))).status)
    }
    expect(statuses).toEqual([200, 200, 200, 429])
    const refused = await from('192.0.2.1')(get('/v1/models'))
    expect(refused.headers.get('retry-after')).toBe('20')
    expect(refused.headers.get('ratelimit-policy')).toBe('"address";q=3;w=60')
    expect(refused.headers.get('ratelimit')).toBe('"address";r=0;t=60')
    expect((await refused.json()).code).toBe('rate-limited')
    const other = await from('192.0.2.2')(get('/v1/models'))
    expect([other.status, other.headers.get('ratelimit')]).toEqual([200, '"address";r=2;t=20'])
    await icl.clock.advance(20_000)
    expect((await from('192.0.2.1')(get('/v1/models'))).status).toBe(200)
  })

  it('count addresses that do not exist, and never the probes', async () => {
    const { from } = await limited(['address'])
    for (let count = 0; count < 3; count++) await from('192.0.2.1')(get(`/nothing/${count}`))
    expect((await from('192.0.2.1')(get('/nothing'))).status).toBe(429)
    for (const path of ['/livez', '/readyz', '/health']) {
      expect((await from('192.0.2.1')(get(path))).status).toBe(200)
    }
  })

  it('are stricter for previews and attestations', async () => {
    const { api } = await limited(['preview', 'attestation'], 1)
    const anyone = api('192.0.2.1')
    const query = { model_id: modelId, min_tier: 0, verifier_count: 2 }
    await anyone.previewQuorum({ query })
    expect(await codeOf(anyone.previewQuorum({ query }))).toBe('rate-limited')
    const { address } = walletOf('n1')
    await anyone.getChallenge({ params: { address } })
    expect(await codeOf(anyone.getChallenge({ params: { address } }))).toBe('rate-limited')
    await anyone.getModels()
  })

  it('count failed signatures by address before anything is verified', async () => {
    const { api, from } = await limited(['failure'])
    const job = await submit(icl)
    const path = `/v1/inference/${job.jobId}`
    for (let count = 0; count < 3; count++) {
      const answer = await from('192.0.2.1')(get(path, { authorization: 'Bearer nonsense' }))
      expect(answer.status).toBe(401)
    }
    expect((await from('192.0.2.1')(get(path))).status).toBe(429)
    const { signer } = walletOf('a wallet that never called')
    expect(await codeOf(api('192.0.2.1', signer).listJobs({ query: {} }))).toBe('rate-limited')
    expect(await codeOf(api('192.0.2.2', signer).listJobs({ query: {} }))).toBeUndefined()
    expect((await from('192.0.2.1')(get('/v1/models'))).status).toBe(200)
  })

  it('do not count requests that nobody signed as failed signatures', async () => {
    const { api, from } = await limited(['failure'])
    for (let count = 0; count < 9; count++) {
      expect((await from('192.0.2.1')(get('/v1/inference'))).status).toBe(401)
    }
    const { signer } = walletOf('client')
    expect(await codeOf(api('192.0.2.1', signer).listJobs({ query: {} }))).toBeUndefined()
  })

  it('let callers that authenticated lately through when others at their address fail', async () => {
    const { api, from } = await limited(['failure'])
    const job = await submit(icl)
    const node = await joinNode(icl, 'n1')
    const { signer } = walletOf('client')
    const calls = [
      (at: string) => api(at, signer).listJobs({ query: {} }),
      (at: string) =>
        api(at, node.signer).getAssignments({
          params: { address: node.address },
          query: { wait: 0 },
        }),
      (at: string) =>
        api(at).getJob({ params: { jobId: job.jobId } }, { readToken: job.readToken }),
    ]
    for (const call of calls) await call('192.0.2.9')
    const fail = (keyId: string) =>
      from('192.0.2.1')(
        get('/v1/inference', {
          'signature-input': `eth=("@authority" "@method" "@path");created=1;keyid="${keyId}"`,
          signature: 'eth=:AAAA:',
        }),
      )
    const stranger = walletOf('stranger').address
    for (let count = 0; count < 3; count++) {
      expect((await fail(`erc8128:1:${stranger}`)).status).toBe(401)
    }
    expect((await fail(`erc8128:1:${stranger}`)).status).toBe(429)
    for (const call of calls) expect(await codeOf(call('192.0.2.1'))).toBeUndefined()
    // A known name is no way to have any number of signatures verified.
    for (let count = 0; count < 3; count++) {
      expect((await fail(`erc8128:1:${signer.address}`)).status).toBe(401)
    }
    expect((await fail(`erc8128:1:${signer.address}`)).status).toBe(429)
    expect(await codeOf(calls[0]!('192.0.2.9'))).toBeUndefined()
  })

  it('count a wallet, a node and a job reader each for itself, wherever they call from', async () => {
    const { api } = await limited(['wallet', 'node', 'reader'])
    const job = await submit(icl)
    const node = await joinNode(icl, 'n1')
    const calls: readonly (readonly [RateName, (at: string) => Promise<unknown>])[] = [
      ['wallet', (at) => api(at, job.client.signer).listJobs({ query: {} })],
      [
        'node',
        (at) =>
          api(at, node.signer).getAssignments({
            params: { address: node.address },
            query: { wait: 0 },
          }),
      ],
      [
        'reader',
        (at) => api(at).getJob({ params: { jobId: job.jobId } }, { readToken: job.readToken }),
      ],
    ]
    for (const [name, call] of calls) {
      for (let count = 0; count < 3; count++) await call(`192.0.2.${count}`)
      const refusal = await call('192.0.2.9').catch((error: unknown) => error)
      expect([name, refusal]).toEqual([name, expect.any(ProblemError)])
      expect((refusal as ProblemError).retryAfterSeconds).toBe(20)
    }
    const { signer } = walletOf('another client')
    expect(await codeOf(api('192.0.2.9', signer).listJobs({ query: {} }))).toBeUndefined()
  })

  it('count what a node asks whose certificate has ended, and not against its address', async () => {
    const { api } = await limited(['node', 'failure'])
    const ended = await joinNode(icl, 'n1')
    await icl.clock.jump(24 * 3_600_000)
    const other = await joinNode(icl, 'n2')
    const ask = ({ signer, address }: typeof ended) =>
      codeOf(api('192.0.2.1', signer).getAssignments({ params: { address }, query: { wait: 0 } }))
    const codes: unknown[] = []
    for (let count = 0; count < 5; count++) codes.push(await ask(ended))
    expect(codes).toEqual([...Array(3).fill('certificate-expired'), 'rate-limited', 'rate-limited'])
    expect(await ask(other)).toBeUndefined()
  })

  it('let a caller hold 32 requests open, and another one when one of them ends', async () => {
    const { api } = await limited([])
    const node = await joinNode(icl, 'n1')
    const left = new AbortController()
    const wait = (signal?: AbortSignal) =>
      codeOf(
        api('192.0.2.1', node.signer).getAssignments(
          { params: { address: node.address }, query: { wait: 30 } },
          { timeoutMs: 60_000, signal },
        ),
      )
    const held = Array.from({ length: 32 }, (_, index) =>
      wait(index === 0 ? left.signal : undefined),
    )
    await icl.clock.advance(100)
    expect(await wait()).toBe('rate-limited')
    const other = await joinNode(icl, 'n2')
    const params = { params: { address: other.address }, query: { wait: 0 } }
    expect(await codeOf(other.api.getAssignments(params))).toBeUndefined()
    left.abort(new Error('gone'))
    await icl.clock.advance(100)
    const late = wait()
    await icl.clock.advance(31_000)
    expect(await Promise.all([late, ...held.slice(1)])).toEqual(Array(32).fill(undefined))
  })

  it('count wallets by address, too: a new wallet costs nothing', async () => {
    const { api } = await limited(['address'])
    const codes: (string | undefined)[] = []
    for (const name of ['a', 'b', 'c', 'd']) {
      codes.push(await codeOf(api('192.0.2.1', walletOf(name).signer).listJobs({ query: {} })))
    }
    expect(codes).toEqual([undefined, undefined, undefined, 'rate-limited'])
  })

  it('refuse what wallets sign before it costs a place in the store', async () => {
    const { api } = await limited(['address'])
    const nonces = () => icl.deps.store.listKeys('nonce:', icl.clock.now())
    const before = (await nonces()).length
    const client = api('192.0.2.1', walletOf('a').signer)
    for (let count = 0; count < 9; count++) await codeOf(client.listJobs({ query: {} }))
    expect((await nonces()).length - before).toBe(3)
  })

  it('for wallets leave alone what nodes sign, and readers show', async () => {
    const { api, from } = await limited(['address', 'upload'])
    const job = await submit(icl)
    const node = await joinNode(icl, 'n1')
    for (let count = 0; count < 3; count++) await from('192.0.2.1')(get('/v1/models'))
    const body = new Uint8Array(32).fill(1)
    const upload = (name: string) =>
      codeOf(api('192.0.2.1', walletOf(name).signer).putBlob({ query: storedKey(icl, name), body }))
    for (const name of ['a', 'b', 'c']) expect(await upload(name)).toBeUndefined()
    expect(await upload('d')).toBe('rate-limited')
    const query = { jobId: job.jobId, fence: 9 }
    expect(await codeOf(api('192.0.2.1', node.signer).putBlob({ query, body }))).toBe('stale-fence')
    const { readToken } = job
    const path = { params: { jobId: job.jobId } }
    expect(await codeOf(api('192.0.2.1').getJob(path, { readToken }))).toBeUndefined()
  })
})
