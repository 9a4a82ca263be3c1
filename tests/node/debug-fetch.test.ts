import { encodeFunctionData, parseAbi } from 'viem'
import { describe, expect, it } from 'vitest'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { taskManagerAbi } from '../../lib/abi/task-manager.ts'
import { taskManager } from '../../lib/chain/task-manager.ts'
import { Address } from '../../lib/codecs.ts'
import { debuggingFetch, debuggingRpcFetch } from '../../node/debug-fetch.ts'
import { icl, recordingLog } from './fakes.ts'

const decryption = parseAbi(['function decrypt(uint256 handle, bytes permit)'])

const post = (path: string, body: string) =>
  new Request(new URL(path, icl), {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', signature: 'secret signature' },
  })

describe('requests at DEBUG', () => {
  it('are shown with their whole bodies, and reach their receiver whole', async () => {
    const log = recordingLog()
    const fetch = debuggingFetch(async (request) => Response.json(await request.json()), log, {
      icl,
    })
    const long = { text: 'x'.repeat(100_000) }
    const response = await fetch(post('/internal/heartbeat?x=1', JSON.stringify(long)))
    expect(await response.json()).toEqual(long)
    expect(log.lines).toEqual([
      `DEBUG POST /internal/heartbeat?x=1 ${JSON.stringify(long)}`,
      `DEBUG POST /internal/heartbeat?x=1 -> 200 ${JSON.stringify(long)}`,
    ])
  })

  it('show neither evidence nor certificates nor blobs, but how long they are', async () => {
    const log = recordingLog()
    const fetch = debuggingFetch(async () => Response.json({ certificate: 'x.y.z' }), log, { icl })
    await fetch(post('/internal/attestation/verify', '{"evidence":"hmac"}'))
    const key = debuggingFetch(async () => Response.json({ key: 'x.y.z' }), log, { icl })
    await key(new Request(`${icl}/internal/attestation/mock-key`))
    const bytes = debuggingFetch(async () => new Response('blob'), log, { icl })
    await bytes(new Request(`${icl}/ipfs/x`))
    await bytes(new Request('http://gateway.example/ipfs/x'))
    expect(log.lines.join()).not.toMatch(/hmac|x\.y\.z|secret signature/)
    expect(log.lines.slice(0, 2)).toEqual([
      'DEBUG POST /internal/attestation/verify [secret, 19 bytes]',
      'DEBUG POST /internal/attestation/verify -> 200 [secret, 23 bytes]',
    ])
    expect(log.lines.slice(3)).toEqual([
      'DEBUG GET /internal/attestation/mock-key -> 200 [secret, 15 bytes]',
      'DEBUG GET /ipfs/x ',
      'DEBUG GET /ipfs/x -> 200 [4 bytes]',
      'DEBUG GET http://gateway.example/ipfs/x ',
      'DEBUG GET http://gateway.example/ipfs/x -> 200 [4 bytes]',
    ])
  })

  it('say how long a body is that is too long to show', async () => {
    const log = recordingLog()
    const headers = { 'content-type': 'application/json', 'content-length': '2000000' }
    const long = async () => new Response('y'.repeat(2_000_000), { headers })
    const response = await debuggingFetch(long, log, { icl })(new Request(`${icl}/v1/models`))
    expect(await response.text()).toHaveLength(2_000_000)
    expect(log.lines.at(-1)).toBe('DEBUG GET /v1/models -> 200 [too long to show, 2000000 bytes]')
  })

  it('show no API key, also where a provider repeats it', async () => {
    const log = recordingLog()
    const gossip = async () => Response.json({ error: 'no such key: sk-123' }, { status: 401 })
    const fetch = debuggingFetch(gossip, log, { secrets: ['sk-123', undefined] })
    await fetch(new Request('https://provider.example/v1/chat?key=sk-123'))
    expect(log.lines).toEqual([
      'DEBUG GET https://provider.example/v1/chat?key=[key] ',
      'DEBUG GET https://provider.example/v1/chat?key=[key] -> 401 {"error":"no such key: [key]"}',
    ])
  })

  describe('to a chain RPC', () => {
    const registry = Address.parse(`0x${'a'.repeat(40)}`)
    const permit = encodeFunctionData({ abi: decryption, args: [1n, '0xabcd'] })
    const nodeOf = encodeFunctionData({
      ...{ abi: nodeRegistryAbi, functionName: 'nodeOf' },
      args: [registry],
    })

    /** What is logged of a request and its answer. */
    async function linesOf(body: unknown, answer: unknown = { id: 1, result: '0x2a' }) {
      const log = recordingLog()
      const fetch = debuggingRpcFetch(async () => Response.json(answer), log)
      const response = await fetch(
        post('https://rpc.example/v3/key-12345678', JSON.stringify(body)),
      )
      expect(await response.json()).toEqual(answer)
      return log.lines
    }
    const callTo = (to: string, data: string, method = 'eth_call') => ({
      ...{ id: 1, method },
      params: [{ to, data }, 'latest'],
    })

    it('are shown whole where they are about public state', async () => {
      const isAllowed = encodeFunctionData({
        ...{ abi: taskManagerAbi, functionName: 'isAllowed' },
        args: [1n, registry],
      })
      for (const body of [
        { id: 1, method: 'eth_blockNumber' },
        { id: 1, method: 'eth_sendRawTransaction', params: ['0x02f8'] },
        callTo(registry, nodeOf),
        callTo(registry, nodeOf.toUpperCase().replace('X', 'x'), 'eth_fillTransaction'),
        callTo(taskManager, isAllowed),
        callTo(taskManager, '0x12345678'),
      ]) {
        expect(await linesOf(body)).toEqual([
          `DEBUG Chain RPC ${body.method} ${JSON.stringify(body)}`,
          `DEBUG Chain RPC ${body.method} -> 200 {"id":1,"result":"0x2a"}`,
        ])
      }
    })

    it('are masked where they may carry a permit, or their answer a half of a key', async () => {
      const unknown = { id: 1, method: 'eth_getStorageAt', params: [taskManager, '0x1'] }
      for (const body of [callTo(taskManager, permit), unknown, [callTo(registry, nodeOf)], 'x']) {
        const lines = await linesOf(body)
        expect([body, lines.length]).toEqual([body, 2])
        expect(lines[0]).toMatch(/^DEBUG Chain RPC \w+ \[secret, \d+ bytes\]$/)
        expect(lines[1]).toMatch(/^DEBUG Chain RPC \w+ -> 200 \[secret, 24 bytes\]$/)
      }
    })

    it('do not show the API key of the RPC, also where the RPC repeats it', async () => {
      const body = { id: 1, method: 'eth_chainId' }
      const lines = await linesOf(body, { error: 'no such project: key-12345678' })
      expect(lines[1]).toBe('DEBUG Chain RPC eth_chainId -> 200 {"error":"no such project: [key]"}')
    })
  })
})
