import { describe, expect, it } from 'vitest'
import { createApp } from '../../icl/app.ts'
import { openAccess } from '../../icl/rules/access.ts'
import { sharesMockKey } from '../../icl/start/dependencies.ts'
import { listen } from '../../icl/start/listen-node.ts'
import { parseSettings } from '../../icl/start/settings.ts'
import { mockKeyHeader } from '../../lib/development.ts'
import { toHex } from '../../lib/tpm/hex.ts'
import { sampleSettings } from '../sample-settings.ts'
import { createTestIcl, mockKey } from './test-icl.ts'

const url = 'http://127.0.0.1:8080/internal/attestation/mock-key'
const byNode = { host: '127.0.0.1:8080', [mockKeyHeader]: '1' }

/** Asks an ICL for its mock key. By default the ICL is for development, and a node on its machine calls. */
async function ask({
  headers = byNode as Record<string, string>,
  peerAddress = '127.0.0.1',
  deps = { sharesMockKey: true } as Parameters<typeof createTestIcl>[0],
}) {
  const icl = await createTestIcl(deps)
  const answer = await createApp(icl.deps).fetch(new Request(url, { headers }), { peerAddress })
  await icl.stop()
  return { answer, logged: icl.logged.join('\n') }
}

describe('the mock key of an ICL for development', () => {
  for (const host of ['127.0.0.1:8080', 'localhost:8080', '[::1]:8080']) {
    it(`goes to a node on the same machine that asks ${host}, and into no log or cache`, async () => {
      const { answer, logged } = await ask({ headers: { ...byNode, host }, peerAddress: '::1' })
      expect(await answer.json()).toEqual({ key: toHex(mockKey) })
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(logged).toContain('getMockKey')
      expect(logged).not.toContain(toHex(mockKey))
    })
  }

  it.each([
    ['a page under another name for this machine', { headers: { ...byNode, host: 'evil.test' } }],
    ['no host', { headers: { [mockKeyHeader]: '1' } }],
    ['no header that needs a preflight', { headers: { host: byNode.host } }],
    ['a page of another origin', { headers: { ...byNode, origin: 'https://evil.test' } }],
    ['a page of its own origin', { headers: { ...byNode, 'sec-fetch-site': 'same-origin' } }],
    ['a proxy', { headers: { ...byNode, 'x-forwarded-for': '127.0.0.1' } }],
    ['a proxy that says less', { headers: { ...byNode, 'x-real-ip': '192.168.0.7' } }],
    ['a proxy with TLS', { headers: { ...byNode, 'x-forwarded-proto': 'https' } }],
    ['another machine', { peerAddress: '192.168.0.7' }],
    ['a runtime that does not name the peer', { peerAddress: '' }],
    ['settings that do not allow it', { deps: {} }],
    ['an ICL without a key', { deps: { sharesMockKey: true, mockAttestationKey: undefined } }],
  ])('does not exist for %s', async (_, how) => {
    const { answer } = await ask(how)
    expect(answer.status).toBe(404)
    expect((await answer.json()).code).toBe('not-found')
  })

  it('has no preflight, also where every page may call the ICL', async () => {
    const icl = await createTestIcl({
      sharesMockKey: true,
      access: { ...openAccess, origins: '*' },
    })
    const headers = {
      ...{ host: byNode.host, origin: 'https://evil.test' },
      ...{ 'access-control-request-method': 'GET' },
      'access-control-request-headers': mockKeyHeader,
    }
    const request = new Request(url, { method: 'OPTIONS', headers })
    const answer = await createApp(icl.deps).fetch(request, { peerAddress: '127.0.0.1' })
    await icl.stop()
    expect(answer.ok).toBe(false)
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  })

  it('goes to a node over a connection that Node.js serves', async () => {
    const icl = await createTestIcl({ sharesMockKey: true })
    const server = await listen(createApp(icl.deps), { hostname: '127.0.0.1', port: 0 })
    const place = new URL('/internal/attestation/mock-key', server.url)
    const answer = await fetch(place, { headers: { [mockKeyHeader]: '1' } })
    expect(await answer.json()).toEqual({ key: toHex(mockKey) })
    expect((await fetch(place)).status).toBe(404)
    await server.stop(true)
    await icl.stop()
  })

  it('counts towards the limit of attestations', async () => {
    const rates = { attestation: { requests: 1, seconds: 60 } }
    const icl = await createTestIcl({ sharesMockKey: true, access: { ...openAccess, rates } })
    const app = createApp(icl.deps)
    const asked = () => app.fetch(new Request(url, { headers: byNode }), { peerAddress: '::1' })
    expect([(await asked()).status, (await asked()).status]).toEqual([200, 429])
    await icl.stop()
  })

  it.each([
    ['shared on 127.0.0.1', {}],
    ['shared on ::1', { SVC_ICL_HOST: '::1', SVC_ICL_PUBLIC_URL: 'http://localhost:8080' }],
    ['kept on all addresses', { SVC_ICL_HOST: '0.0.0.0' }],
    ['kept under a public name', { SVC_ICL_PUBLIC_URL: 'https://icl.example' }],
    ['kept on another chain', { SVC_ICL_CHAIN_ID: '1' }],
    ['kept behind a proxy', { SVC_ICL_TRUSTED_PROXIES: '1' }],
  ])('is %s', (how, changes) => {
    const local = { SVC_ICL_PUBLIC_URL: 'http://127.0.0.1:8080', SVC_ICL_CHAIN_ID: '31337' }
    const settings = parseSettings({ ...sampleSettings, ...local, ...changes })
    expect(sharesMockKey(settings)).toBe(how.startsWith('shared'))
  })
})
