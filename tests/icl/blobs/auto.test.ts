import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { hasBlock } from '../../../demo/kubo-process.ts'
import { createApp } from '../../../icl/app.ts'
import { kuboRowOf } from '../../../icl/blobs/kubo.ts'
import { createDependencies } from '../../../icl/start/dependencies.ts'
import { createMachine } from '../../../icl/start/machine.ts'
import { openBlobs } from '../../../icl/start/open-blobs.ts'
import { parseSettings } from '../../../icl/start/settings.ts'
import { createMemoryStore } from '../../../icl/store/memory/store.ts'
import { cidOf } from '../../../lib/cid.ts'
import { systemClock } from '../../../lib/system.ts'
import { answerJson, type LocalServer, startServer } from '../../local-server.ts'
import { sampleSettings } from '../../sample-settings.ts'
import { kuboNote, startTestKubo } from '../../tools/kubo.ts'
import { storedKey } from '../test-client.ts'
import { createTestIcl, walletOf } from '../test-icl.ts'

const hourMs = 3_600_000
const folder = await mkdtemp(join(tmpdir(), 'svc-auto-'))
const database = { SVC_ICL_DATABASE_URL: `sqlite:${join(folder, 'icl.db')}` }
const unset = { ...sampleSettings, ...database, SVC_ICL_BLOBS: '' }
const nowhere = 'http://127.0.0.1:1'
const servers: LocalServer[] = []
const tried = await startTestKubo()
const noKubo = tried === undefined

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})
afterAll(async () => {
  await tried?.stop()
  await rm(folder, { recursive: true })
})

async function standIn(...args: Parameters<typeof startServer>): Promise<LocalServer> {
  const server = await startServer(...args)
  servers.push(server)
  return server
}

/** What an ICL finds at its start when Kubo would be at `localKubo`, and its log. */
async function start(
  localKubo: string | undefined,
  { store = createMemoryStore(), more = {} } = {},
) {
  const lines: string[] = []
  const note = (message: string, fields: object = {}) => {
    lines.push(`${message} ${JSON.stringify(fields)}`)
  }
  const log = { debug: note, info: note, warn: note, error: note }
  const settings = parseSettings({ ...unset, ...more })
  const opened = await openBlobs(settings, { store, clock: systemClock, log, localKubo })
  return { ...opened, store, log: lines.join('\n') }
}

async function aBlob(text: string) {
  const bytes = new TextEncoder().encode(text)
  return { bytes, cid: await cidOf(bytes) }
}

const put = (
  { blobs }: Awaited<ReturnType<typeof start>>,
  { cid, bytes }: Awaited<ReturnType<typeof aBlob>>,
) => blobs.put(cid, bytes, { uploader: 'node', until: systemClock.now() + hourMs })

async function pinned(rpcUrl: string): Promise<readonly string[]> {
  const answer = await fetch(`${rpcUrl}/api/v0/pin/ls?type=recursive`, { method: 'POST' })
  return Object.keys(((await answer.json()) as { Keys: object }).Keys)
}

describe(`blobs that no setting gives a place${kuboNote}`, () => {
  it.skipIf(noKubo)('are on IPFS where Kubo takes them', async () => {
    const { kubo } = tried!
    const before = await pinned(kubo.rpcUrl)
    const { blobs, place, store, log } = await start(kubo.rpcUrl)
    expect([place, await pinned(kubo.rpcUrl)]).toEqual(['ipfs', before])
    expect(log).toContain(`blobs go to IPFS {"why":"Kubo takes blobs at ${kubo.rpcUrl}"}`)
    const icl = await createTestIcl({ blobs, store })
    const sealed = { query: storedKey(icl, 'client'), body: new Uint8Array(32).fill(1) }
    const { cid } = await icl.api(walletOf('client').signer).putBlob(sealed)
    await icl.stop()
    expect(await hasBlock(kubo, cid)).toBe(true)
    expect(new Set(await pinned(kubo.rpcUrl))).toEqual(new Set([...before, cid]))
  })

  it('are sought at the port that Kubo has by default', () => {
    expect(createMachine(() => {}).localKubo).toBe('http://127.0.0.1:5001')
  })

  it.skipIf(noKubo)('are at the place that /v1/network and /readyz name', async () => {
    for (const [localKubo, place] of [
      [tried!.kubo.rpcUrl, 'ipfs'],
      [nowhere, 'store'],
    ] as const) {
      const host = { ...createMachine(() => {}), localKubo }
      const deps = await createDependencies(parseSettings(unset), host)
      const app = createApp(deps)
      for (const path of ['/v1/network', '/readyz']) {
        const request = new Request(`https://icl.test${path}`)
        const answer = await app.fetch(request, { peerAddress: '127.0.0.1' })
        expect(await answer.json()).toMatchObject({ blobs: place })
      }
      await deps.store.close()
    }
  })

  const refusing = (command: string, status: number, Message: string) => () =>
    standIn((response, { path }) =>
      path.includes(command)
        ? answerJson(response, status, { Message })
        : answerJson(response, 200, { Version: '0.40.1' }),
    )
  const cases: readonly (readonly [string, () => Promise<{ readonly url: string }>, string])[] = [
    ['nothing listens', async () => ({ url: nowhere }), 'Kubo cannot be reached'],
    ['Kubo never answers', () => standIn(() => {}), 'within 1500 ms'],
    ['Kubo asks for a password', refusing('version', 403, 'no'), 'Kubo answered 403 to version'],
    [
      'the disk of Kubo is read-only',
      refusing('block/put', 500, 'read-only file system'),
      'Kubo refused block/put: read-only file system',
    ],
    [
      'another program has the port',
      () => standIn((response) => void response.end('hello')),
      'Kubo gave an answer to version that is none of its own',
    ],
  ]
  for (const [name, listen, why] of cases) {
    it(`are in the store when ${name}, and the log says why`, async () => {
      const { url } = await listen()
      const world = await start(url)
      expect(world.place).toBe('store')
      expect(world.log).toContain('blobs go to the store')
      expect(world.log).toContain(why)
      expect(world.log).toContain(`(${url})`)
      const blob = await aBlob(name)
      expect(await put(world, blob)).toBe(true)
      expect(await world.store.findBlob(blob.cid)).toEqual(blob.bytes)
    })
  }

  it('are written to no program but Kubo, which gets no secret', async () => {
    const server = await standIn((response) => answerJson(response, 200, {}))
    await start(server.url, { more: { SVC_ICL_KUBO_AUTHORIZATION: 'Bearer secret' } })
    expect(server.seen[0]?.headers).not.toHaveProperty('authorization')
    expect(server.seen.map(({ path }) => path.split('?')[0])).toEqual(['/api/v0/version'])
  })

  it('are in the store without a look at Kubo for several replicas, in memory, and on an edge host', async () => {
    const server = await standIn((response) => answerJson(response, 200, {}))
    const more = { SVC_ICL_REPLICAS: '2', SVC_ICL_DATABASE_URL: 'mongodb://127.0.0.1:1/svc' }
    expect((await start(server.url, { more })).place).toBe('store')
    const inMemory = { SVC_ICL_DATABASE_URL: 'memory:' }
    expect((await start(server.url, { more: inMemory })).place).toBe('store')
    expect((await start(undefined)).place).toBe('store')
    expect(server.seen).toEqual([])
  })

  it.skipIf(noKubo)('are read from both places after a start without Kubo', async () => {
    const { kubo } = tried!
    const [earlier, later, unknown] = [await aBlob('1'), await aBlob('2'), await aBlob('3')]
    const more = { SVC_ICL_PUBLIC_URL: 'https://both.test' }
    const first = await start(kubo.rpcUrl, { more })
    const { store } = first
    expect(await put(first, earlier)).toBe(true)
    await kubo.kill()
    const second = await start(kubo.rpcUrl, { store, more })
    expect(second.place).toBe('store')
    expect(second.warning).toContain('start it there with the same repository')
    expect(second.log).toContain(second.warning)
    expect(await put(second, later)).toBe(true)
    expect(await second.blobs.get(later.cid)).toEqual(later.bytes)
    await expect(second.blobs.get(earlier.cid)).rejects.toMatchObject({ code: 'unavailable' })
    expect(await second.blobs.get(unknown.cid)).toBeUndefined()
    const cids = [earlier.cid, later.cid, unknown.cid]
    const until = systemClock.now() + 5 * hourMs
    await second.blobs.keep([earlier.cid], { until })
    expect(await store.saveAll(await second.blobs.keeping(cids, { until }))).toBeUndefined()
    await store.prune({ now: until - hourMs, settledBefore: 0, limit: 10 })
    await kubo.restart()
    expect(await second.blobs.prune(() => true)).toBe(0)
    for (const { blobs, warning } of [second, await start(kubo.rpcUrl, { store, more })]) {
      expect(await blobs.get(earlier.cid)).toEqual(earlier.bytes)
      expect(await blobs.get(later.cid)).toEqual(later.bytes)
      expect(warning === undefined).toBe(blobs !== second.blobs)
    }
    await store.erase({ kind: 'blob', cid: kuboRowOf(earlier.cid) })
    expect(await second.blobs.prune(() => true)).toBe(1)
  })
})
