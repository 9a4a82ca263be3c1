import { describe, expect, it } from 'vitest'
import { debuggingFetch, debuggingRpcFetch } from '../../node/debug-fetch.ts'
import { icl, recordingLog } from './fakes.ts'

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
    const bytes = debuggingFetch(async () => new Response('blob'), log, { icl })
    await bytes(new Request(`${icl}/ipfs/x`))
    await bytes(new Request('http://gateway.example/ipfs/x'))
    expect(log.lines.join()).not.toMatch(/hmac|x\.y\.z|secret signature/)
    expect(log.lines.slice(0, 2)).toEqual([
      'DEBUG POST /internal/attestation/verify [secret, 19 bytes]',
      'DEBUG POST /internal/attestation/verify -> 200 [secret, 23 bytes]',
    ])
    expect(log.lines.slice(3)).toEqual([
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

  it('to a chain RPC are named by their method, without its address and what may be a key', async () => {
    const log = recordingLog()
    const fetch = debuggingRpcFetch(async () => Response.json({ id: 1, result: '0x2a' }), log)
    const call = (method: string) =>
      fetch(post('https://rpc.example/api-key', JSON.stringify({ id: 1, method })))
    await call('eth_blockNumber')
    expect(await (await call('eth_call')).json()).toEqual({ id: 1, result: '0x2a' })
    expect(log.lines).toEqual([
      'DEBUG Chain RPC eth_blockNumber {"id":1,"method":"eth_blockNumber"}',
      'DEBUG Chain RPC eth_blockNumber -> 200 {"id":1,"result":"0x2a"}',
      'DEBUG Chain RPC eth_call [secret, 28 bytes]',
      'DEBUG Chain RPC eth_call -> 200 [secret, 24 bytes]',
    ])
  })
})
