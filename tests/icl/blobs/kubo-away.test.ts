import { afterEach, describe, expect, it } from 'vitest'
import { createKuboBlobs } from '../../../icl/blobs/kubo.ts'
import { createMemoryStore } from '../../../icl/store/memory/store.ts'
import { cidOf } from '../../../lib/cid.ts'
import { answerJson, startServer } from '../../local-server.ts'
import { shortWaits } from '../../short-waits.ts'
import { storedKey } from '../test-client.ts'
import { createTestIcl, type TestIcl, walletOf } from '../test-icl.ts'

const { signer } = walletOf('client')
const prompt = new Uint8Array(32).fill(1)
const cid = await cidOf(prompt)
const ends: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

/** An ICL whose Kubo answers with a status and a message; with 200 it takes every blob. */
async function iclOver(answer: () => { status: number; message: string }): Promise<TestIcl> {
  const server = await startServer((response) => {
    const { status, message } = answer()
    const good = { Key: cid, Pins: [cid], RepoSize: 0, StorageMax: 1e9 }
    answerJson(response, status, status === 200 ? good : { Message: message })
  })
  const store = createMemoryStore()
  const blobs = createKuboBlobs({
    rpcUrl: server.url,
    pinName: 'svc-icl test',
    fetch: (request) => fetch(request),
    store,
    clock: shortWaits,
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
  })
  const icl = await createTestIcl({ blobs, store })
  ends.push(icl.stop, server.close)
  return icl
}

const get = (icl: TestIcl, path: string) => icl.fetch(new Request(`${origin(icl)}${path}`))
const origin = (icl: TestIcl) => icl.deps.network.public_url
const upload = (icl: TestIcl) =>
  icl.api(signer).putBlob({ query: storedKey(icl, 'client'), body: prompt })

describe('an ICL whose Kubo', () => {
  it('is away refuses uploads and downloads for a while, and says that it is degraded', async () => {
    const icl = await iclOver(() => ({ status: 503, message: '' }))
    await expect(upload(icl)).rejects.toMatchObject({
      code: 'unavailable',
      status: 503,
      retryAfterSeconds: 5,
    })
    const read = await get(icl, `/ipfs/${cid}`)
    expect([read.status, read.headers.get('retry-after')]).toEqual([503, '5'])
    const ready = await get(icl, '/readyz')
    expect(ready.status).toBe(200)
    expect(await ready.json()).toMatchObject({
      ready: true,
      reasons: expect.arrayContaining([
        'the blob store does not respond: uploads and downloads fail',
      ]),
    })
  })

  it('has no such block says that there is none', async () => {
    const message = 'block was not found locally (offline): ipld: could not find it'
    const icl = await iclOver(() => ({ status: 500, message }))
    const read = await get(icl, `/ipfs/${cid}`)
    expect(read.status).toBe(404)
    expect(await read.json()).toMatchObject({ code: 'blob-not-found' })
  })

  it('is back takes uploads again', async () => {
    let status = 503
    const icl = await iclOver(() => ({ status, message: '' }))
    await expect(upload(icl)).rejects.toMatchObject({ code: 'unavailable' })
    status = 200
    expect(await upload(icl)).toEqual({ cid })
    const ready = (await (await get(icl, '/readyz')).json()) as { reasons: string[] }
    expect(ready.reasons.join()).not.toContain('blob store')
  })
})
