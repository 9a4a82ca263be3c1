import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { hasBlock } from '../../../demo/kubo-process.ts'
import { createKuboBlobs, kuboRowOf } from '../../../icl/blobs/kubo.ts'
import { createStoredBlobs } from '../../../icl/blobs/stored.ts'
import { createMemoryStore } from '../../../icl/store/memory/store.ts'
import { cidOf } from '../../../lib/cid.ts'
import { systemClock, systemRandom } from '../../../lib/system.ts'
import { answerJson, type LocalServer, startServer } from '../../local-server.ts'
import { itWithKubo, kuboNote, startTestKubo } from '../../tools/kubo.ts'

const hourMs = 3_600_000
const bytes = new Uint8Array(1_000).map((_, index) => index % 253)
const cid = await cidOf(bytes)
const servers: LocalServer[] = []
const tried = await startTestKubo()

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})
afterAll(() => tried?.stop())

async function standIn(...args: Parameters<typeof startServer>): Promise<LocalServer> {
  const server = await startServer(...args)
  servers.push(server)
  return server
}

function blobsOf(rpcUrl: string, more: Partial<Parameters<typeof createKuboBlobs>[0]> = {}) {
  const store = createMemoryStore()
  const told: string[] = []
  const note = (message: string, fields: object = {}) => {
    told.push(`${message} ${JSON.stringify(fields)}`)
  }
  const blobs = createKuboBlobs({
    rpcUrl,
    pinName: `svc-icl ${systemRandom.bytes(8).join('.')}`,
    fetch: (request) => fetch(request),
    store,
    clock: systemClock,
    log: { debug: note, info: note, warn: note, error: note },
    ...more,
  })
  return { store, blobs, told }
}

const put = ({ blobs }: ReturnType<typeof blobsOf>, signal?: AbortSignal) =>
  blobs.put(cid, bytes, { uploader: 'wallet', until: systemClock.now() + hourMs, signal })

const room = { RepoSize: 0, StorageMax: 1e9 }
const unavailable = { code: 'unavailable', retryAfterSeconds: expect.any(Number) }

describe('a Kubo that is not as it should be', () => {
  it('is asked again when it limits requests, for as long as it wants', async () => {
    const server = await standIn((response, { path }, count) => {
      if (count === 1) answerJson(response, 429, {}, { 'retry-after': '1' })
      else answerJson(response, 200, path.includes('stat') ? room : { Key: cid, Pins: [cid] })
    })
    const startedAt = systemClock.now()
    expect(await put(blobsOf(server.url))).toBe(true)
    expect(systemClock.now() - startedAt).toBeGreaterThanOrEqual(950)
    expect(server.seen.map(({ path }) => path.split('?')[0])).toEqual([
      '/api/v0/repo/stat',
      '/api/v0/repo/stat',
      '/api/v0/block/put',
      '/api/v0/pin/add',
    ])
  })

  it('makes uploads and downloads fail for a while, never look absent', async () => {
    const gone = await startServer(() => {})
    await gone.close()
    const urls = [
      gone.url,
      (await standIn(() => {})).url,
      (await standIn((response) => answerJson(response, 502, {}))).url,
      (await standIn((response) => void response.write('a bit'))).url,
      (await standIn((response) => void response.end('tampered'))).url,
      (await standIn((response) => void response.end(Buffer.alloc(3 * 1024 * 1024)))).url,
      (await standIn((response) => answerJson(response, 500, { Message: 'it is closed' }))).url,
      (
        await standIn(
          (response, { path }) => void response.writeHead(302, { location: path }).end(),
        )
      ).url,
    ]
    await Promise.all(
      urls.map(async (url) => {
        const world = blobsOf(url, { attemptMs: 400 })
        await expect(put(world)).rejects.toMatchObject(unavailable)
        await expect(world.blobs.get(cid)).rejects.toMatchObject(unavailable)
        const gateway = blobsOf(url, { attemptMs: 400, gatewayUrl: url })
        await expect(gateway.blobs.get(cid)).rejects.toMatchObject(unavailable)
      }),
    )
  })

  it('that does not answer is told of', async () => {
    const gone = await startServer(() => {})
    await gone.close()
    const { blobs } = blobsOf(gone.url)
    await expect(blobs.ping()).rejects.toMatchObject({ code: 'kubo-unreachable' })
  })

  it('is believed no other CID than the one that was asked for', async () => {
    const server = await standIn((response, { path }) =>
      answerJson(response, 200, path.includes('stat') ? room : { Key: `${cid}x`, Pins: [] }),
    )
    await expect(put(blobsOf(server.url))).rejects.toMatchObject(unavailable)
    expect(server.seen.some(({ path }) => path.includes('pin/add'))).toBe(false)
  })

  it('keeps its secret from where it redirects to', async () => {
    const elsewhere = await standIn((response) => answerJson(response, 200, room))
    const server = await standIn((response, { path }) => {
      response.writeHead(307, { location: `${elsewhere.url}${path}` }).end()
    })
    const world = blobsOf(server.url, { authorization: 'Bearer do-not-send' })
    await expect(put(world)).rejects.toMatchObject(unavailable)
    expect([server.seen.length, elsewhere.seen.length]).toEqual([1, 0])
  })

  it('gets its secret, which no log line shows', async () => {
    const secret = 'Bearer do-not-show'
    const server = await standIn((response) => answerJson(response, 403, { Message: secret }))
    const world = blobsOf(server.url, { authorization: secret })
    const error = await put(world).catch((reason: unknown) => reason)
    expect(error).toMatchObject(unavailable)
    expect(server.seen).toHaveLength(1)
    expect(server.seen[0]?.headers.authorization).toBe(secret)
    expect(world.told.join('\n')).toContain('403')
    expect(`${world.told.join('\n')} ${String(error)}`).not.toContain('do-not-show')
  })

  it('has half of what others leave for wallets, and a quarter for nodes and for pools', async () => {
    const server = await standIn((response, { path }) =>
      answerJson(
        response,
        200,
        path.includes('stat') ? { RepoSize: 3_000, StorageMax: 6_000 } : { Key: cid, Pins: [cid] },
      ),
    )
    const { blobs, store } = blobsOf(server.url)
    const until = systemClock.now() + hourMs
    const own = {
      kind: 'blob',
      cid: 'kubo:own',
      bytes: new Uint8Array(),
      uploader: 'kubo-node',
    } as const
    await store.save({ ...own, size: 1_000, until })
    expect(await blobs.rooms()).toEqual({
      wallet: { bytes: 2_000, freeBytes: 2_000, openBytes: 2_000 },
      node: { bytes: 1_000, freeBytes: 0, openBytes: 1_000 },
      icl: { bytes: 1_000, freeBytes: 1_000, openBytes: 1_000 },
    })
  })

  it('keeps its blobs when the store has no room of its own left', async () => {
    const server = await standIn((response, { path }) =>
      answerJson(response, 200, path.includes('stat') ? room : { Key: cid, Pins: [cid] }),
    )
    const world = blobsOf(server.url)
    expect(await put(world)).toBe(true)
    const stored = createStoredBlobs(world.store, 3_000, systemClock)
    const until = systemClock.now() + hourMs
    const other = bytes.slice(1)
    expect(await stored.put(await cidOf(other), other, { uploader: 'wallet', until })).toBe(true)
    expect(await world.store.findBlob(kuboRowOf(cid))).toBeDefined()
  })

  it('is left when the caller has gone', async () => {
    const caller = new AbortController()
    const server = await standIn(() => caller.abort(new Error('the caller has gone')))
    await expect(put(blobsOf(server.url), caller.signal)).rejects.toThrow('the caller has gone')
    expect(server.seen).toHaveLength(1)
  })

  it('is told to pin what it has taken, also when the caller has gone by then', async () => {
    const caller = new AbortController()
    const server = await standIn((response, { path }) => {
      if (path.includes('block/put')) caller.abort(new Error('the caller has gone'))
      answerJson(response, 200, path.includes('stat') ? room : { Key: cid, Pins: [cid] })
    })
    await put(blobsOf(server.url), caller.signal)
    expect(server.seen.map(({ path }) => path.split('?')[0])).toContain('/api/v0/pin/add')
  })

  it('that does not unpin is not asked for ever', async () => {
    const pinName = 'svc-icl of this test'
    const pins = ['one', cid, 'two'].map((Cid) => `${JSON.stringify({ Cid, Name: pinName })}\n`)
    const server = await standIn((response, { path }) => {
      if (path.includes('pin/ls')) response.end(pins.join(''))
      else answerJson(response, 500, { Message: 'the disk is read-only' })
    })
    const { blobs } = blobsOf(server.url, { pinName, pinsAtOnce: 1 })
    await expect(blobs.prune(() => true)).rejects.toMatchObject({ code: 'kubo-refused' })
    const asked = server.seen.filter(({ path }) => path.includes('pin/rm'))
    expect(asked.map(({ path }) => path.split('arg=')[1])).toEqual(['one', cid, 'two'])
  })
})

describe(`a real Kubo${kuboNote}`, () => {
  itWithKubo('holds a blob under our CID, pinned, and neither once it has expired', async () => {
    if (!tried) throw new TypeError('There is no Kubo here')
    const { kubo } = tried
    const world = blobsOf(kubo.rpcUrl)
    const other = blobsOf(kubo.rpcUrl)
    const others = new TextEncoder().encode('of another ICL')
    const otherCid = await cidOf(others)
    const until = systemClock.now() + hourMs
    expect(await put(world)).toBe(true)
    await other.blobs.put(otherCid, others, { uploader: 'node', until })
    expect(await hasBlock(kubo, cid)).toBe(true)
    expect(await pinned(kubo.rpcUrl)).toContain(cid)
    expect(await world.blobs.prune(() => true)).toBe(0)
    await world.store.prune({ now: until + hourMs, settledBefore: 0, limit: 10 })
    expect(await world.blobs.prune(() => true)).toBe(1)
    expect(await hasBlock(kubo, cid)).toBe(false)
    const left = await pinned(kubo.rpcUrl)
    expect(left).toContain(otherCid)
    expect(left).not.toContain(cid)
  })

  for (const step of ['pin/rm', 'block/rm']) {
    itWithKubo(`keeps what one replica puts again while another is at ${step}`, async () => {
      if (!tried) throw new TypeError('There is no Kubo here')
      const { kubo } = tried
      const until = systemClock.now() + hourMs
      const pinName = `svc-icl ${step}`
      const one = blobsOf(kubo.rpcUrl, { pinName })
      const { store } = one
      const sealed = new TextEncoder().encode(`again at ${step}`)
      const sealedCid = await cidOf(sealed)
      const putAgain = () => one.blobs.put(sealedCid, sealed, { uploader: 'node', until })
      let interfered = 0
      const two = blobsOf(kubo.rpcUrl, {
        pinName,
        store,
        fetch: async (request) => {
          if (request.url.includes(step) && interfered++ === 0) {
            expect(await putAgain()).toBe(true)
          }
          return await fetch(request)
        },
      })
      await two.blobs.put(sealedCid, sealed, { uploader: 'node', until })
      await store.prune({ now: until, settledBefore: 0, limit: 10 })
      await two.blobs.prune(() => true)
      expect(interfered).toBe(1)
      expect(await hasBlock(kubo, sealedCid)).toBe(true)
      expect(await pinned(kubo.rpcUrl)).toContain(sealedCid)
    })
  }

  itWithKubo('is looked through in parts, however many pins it has', async () => {
    if (!tried) throw new TypeError('There is no Kubo here')
    const { rpcUrl } = tried.kubo
    const world = blobsOf(rpcUrl, { pinsAtOnce: 3 })
    const now = systemClock.now()
    const texts = Array.from({ length: 20 }, (_, index) => `of part ${index}`)
    const cids = await Promise.all(
      texts.map(async (text, index) => {
        const sealed = new TextEncoder().encode(text)
        const until = now + (index % 3 === 0 ? 3 : 1) * hourMs
        const textCid = await cidOf(sealed)
        await world.blobs.put(textCid, sealed, { uploader: 'node', until })
        return textCid
      }),
    )
    await world.store.prune({ now: now + 2 * hourMs, settledBefore: 0, limit: 100 })
    expect(await world.blobs.prune(() => true)).toBe(13)
    const left = await pinned(rpcUrl)
    expect(cids.filter((one) => left.includes(one))).toEqual(
      cids.filter((_, index) => index % 3 === 0),
    )
  })

  itWithKubo('that goes away and comes back has lost nothing', async () => {
    if (!tried) throw new TypeError('There is no Kubo here')
    const { kubo } = tried
    const world = blobsOf(kubo.rpcUrl)
    expect(await put(world)).toBe(true)
    await kubo.kill()
    await expect(world.blobs.get(cid)).rejects.toMatchObject(unavailable)
    await kubo.restart()
    expect(await world.blobs.get(cid)).toEqual(bytes)
  })

  itWithKubo('leaves what the store held before where it is, and reads it there', async () => {
    if (!tried) throw new TypeError('There is no Kubo here')
    const world = blobsOf(tried.kubo.rpcUrl)
    const old = new TextEncoder().encode('from before')
    const oldCid = await cidOf(old)
    const until = systemClock.now() + hourMs
    const before = createStoredBlobs(world.store, 1_000_000, systemClock)
    await before.put(oldCid, old, { uploader: 'node', until })
    await world.blobs.keep([oldCid], { until: until + 5 * hourMs })
    await world.store.prune({ now: until + hourMs, settledBefore: 0, limit: 10 })
    expect(await world.blobs.get(oldCid)).toEqual(old)
    expect(await hasBlock(tried.kubo, oldCid)).toBe(false)
  })
})

async function pinned(rpcUrl: string): Promise<readonly string[]> {
  const answer = await fetch(`${rpcUrl}/api/v0/pin/ls?type=recursive`, { method: 'POST' })
  const { Keys } = (await answer.json()) as { Keys: Record<string, unknown> }
  return Object.keys(Keys)
}
