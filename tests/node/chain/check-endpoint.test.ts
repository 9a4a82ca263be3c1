import { describe, expect, it, vi } from 'vitest'
import { rpcHostInUse } from '../../../lib/chain/rpc-list.ts'
import { isLoopback } from '../../../lib/ip-address.ts'
import { checkEndpoint } from '../../../node/chain/check-endpoint.ts'
import { startServer } from '../../local-server.ts'
import { startStubChain } from '../stub-chain.ts'

describe('the chain RPC of a node', () => {
  it("has to be for the network's chain", async () => {
    const server = await startStubChain(5)
    try {
      expect(await checkEndpoint({ rpcUrl: server.url, chainId: 5 })).toBe(true)
      await expect(checkEndpoint({ rpcUrl: server.url, chainId: 31_337 })).rejects.toMatchObject({
        code: 'chain-id-differs',
        message: expect.stringContaining('is for chain 5, but the ICL works on chain 31337'),
        retryable: false,
      })
    } finally {
      await server.close()
    }
  })

  it('may be one of several: those that respond have to be for it, and one has to respond', async () => {
    const [right, wrong] = await Promise.all([startStubChain(5), startStubChain(6)])
    const away = 'http://127.0.0.1:9'
    const check = (...urls: string[]) => checkEndpoint({ rpcUrl: urls.join(','), chainId: 5 })
    try {
      expect(await check(away, right.url)).toBe(true)
      await expect(check(right.url, wrong.url)).rejects.toThrow('is for chain 6')
      await expect(check(away, away)).rejects.toMatchObject({ code: 'chain-unavailable' })
    } finally {
      await Promise.all([right.close(), wrong.close()])
    }
  })

  it('may hang where another one of several works, which is used, and is named', async () => {
    const [silent, right] = await Promise.all([startServer(() => {}), startStubChain(5)])
    const place = { rpcUrl: `${silent.url},${right.url}`, chainId: 5 }
    const warn = vi.fn()
    try {
      expect(await checkEndpoint(place, AbortSignal.timeout(20_000), warn)).toBe(true)
      expect(warn.mock.calls).toEqual([[expect.stringContaining(new URL(silent.url).host)]])
      expect(rpcHostInUse(place)).toBe(new URL(right.url).host)
    } finally {
      await Promise.all([silent.close(), right.close()])
    }
  }, 30_000)

  it('has to be on this machine for the local chain, and its access key is not shown', async () => {
    const rpcUrl = 'https://rpc.example/v1/access-key'
    const failure = await checkEndpoint({ rpcUrl, chainId: 31_337 }).catch((error) => error)
    expect(failure).toMatchObject({ code: 'chain-not-local', retryable: false })
    expect(failure.message).toContain('rpc.example')
    expect(failure.message + failure.hint).not.toContain('access-key')
  })

  it('may come back when it cannot be reached', async () => {
    const endpoint = { rpcUrl: 'http://127.0.0.1:9', chainId: 31_337 }
    await expect(checkEndpoint(endpoint)).rejects.toMatchObject({
      code: 'chain-unavailable',
      retryable: true,
    })
  })

  const local = [
    'http://127.0.0.1:8545',
    'http://127.1:1',
    'http://localhost',
    'http://[::1]:1',
    'http://[::ffff:127.0.0.1]',
  ]
  const remote = ['http://127.0.0.1.example', 'http://10.0.0.1', 'https://localhost.example']
  for (const url of local)
    it(`is on this machine at ${url}`, () => expect(isLoopback(url)).toBe(true))
  for (const url of remote) it(`is elsewhere at ${url}`, () => expect(isLoopback(url)).toBe(false))
})
