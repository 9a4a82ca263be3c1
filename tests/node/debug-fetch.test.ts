import { describe, expect, it } from 'vitest'
import { debuggingFetch } from '../../node/debug-fetch.ts'
import { icl, recordingLog } from './fakes.ts'

const post = (path: string, body: string) =>
  new Request(`${icl}${path}`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', signature: 'secret signature' },
  })

describe('requests at DEBUG', () => {
  it('are shown with their bodies, and reach their receiver whole', async () => {
    const log = recordingLog()
    const fetch = debuggingFetch(async (request) => Response.json(await request.json()), log)
    const response = await fetch(post('/internal/heartbeat?x=1', '{"free_slots":2}'))
    expect(await response.json()).toEqual({ free_slots: 2 })
    expect(log.lines).toEqual([
      'DEBUG POST /internal/heartbeat?x=1 {"free_slots":2}',
      'DEBUG POST /internal/heartbeat?x=1 -> 200 {"free_slots":2}',
    ])
  })

  it('show neither evidence nor certificates nor blobs', async () => {
    const log = recordingLog()
    const fetch = debuggingFetch(async () => Response.json({ certificate: 'x.y.z' }), log)
    await fetch(post('/internal/attestation/verify', '{"evidence":"hmac"}'))
    const bytes = debuggingFetch(async () => new Response('blob'), log)
    await bytes(new Request(`${icl}/ipfs/x`))
    expect(log.lines.join()).not.toMatch(/hmac|x\.y\.z|secret signature/)
    expect(log.lines.at(-1)).toBe('DEBUG GET /ipfs/x -> 200 [bytes]')
  })
})
