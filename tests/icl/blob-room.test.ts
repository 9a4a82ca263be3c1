import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Blobs } from '../../icl/blobs/blobs.ts'
import { createKuboBlobs } from '../../icl/blobs/kubo.ts'
import { createStoredBlobs } from '../../icl/blobs/stored.ts'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import { openSqliteStore } from '../../icl/store/sqlite/file.ts'
import type { Store } from '../../icl/store/store.ts'
import { cidOf } from '../../lib/cid.ts'
import type { Clock } from '../../lib/clock.ts'
import { codeOf } from '../code-of.ts'
import { itWithKubo, kuboNote, startTestKubo } from '../tools/kubo.ts'
import { claim } from './node-steps.ts'
import { runJob } from './run-job.ts'
import { listedKey, storedKey, submissionOf, submit } from './test-client.ts'
import {
  createReplica,
  createShared,
  createTestIcl,
  joinNodes,
  modelId,
  type TestIcl,
  walletOf,
} from './test-icl.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-blob-room-'))
const kubo = await startTestKubo()
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await kubo?.stop()
})

const blobBytes = 1_000
/** Room for 16 prompts. */
const roomBytes = 2 * 16 * blobBytes

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

const inStore = (store: Store, clock: Clock) => createStoredBlobs(store, roomBytes, clock)

function inKubo(store: Store, clock: Clock): Blobs {
  if (!kubo) throw new TypeError('There is no Kubo here')
  return createKuboBlobs({
    ...{ ...kubo.kubo, pinName: 'svc-icl blob-room', store, clock, log },
    fetch: async (request) =>
      request.url.includes('repo/stat')
        ? Response.json({ RepoSize: 0, StorageMax: roomBytes })
        : await fetch(request),
  })
}

const adapters = [
  { name: 'in memory', test: it, open: createMemoryStore, blobsIn: inStore },
  {
    name: 'in sqlite',
    test: it,
    open: () => openSqliteStore(join(folder, 'icl.db')),
    blobsIn: inStore,
  },
  {
    name: `in Kubo${kuboNote}`,
    test: itWithKubo,
    open: createMemoryStore,
    blobsIn: inKubo,
    prefix: 'kubo-' as const,
  },
]

/** Uploads a prompt of a wallet that has just stored a key. Returns its CID. */
async function upload(icl: TestIcl, client: string): Promise<string> {
  const body = new Uint8Array(blobBytes).map((_, index) => client.charCodeAt(index) || index)
  body[0] = 1
  const query = storedKey(icl, client)
  return (await icl.api(walletOf(client).signer).putBlob({ query, body })).cid
}

/** Fills the room as often as twice with prompts of jobs that are submitted and cancelled. */
async function flood(icl: TestIcl): Promise<void> {
  for (let count = 0; count < 32; count++) {
    const key = await listedKey(icl, { client: `flood ${count}` })
    const promptCid = await upload(icl, `flood ${count}`)
    const { body } = submissionOf(icl, key, { promptCid })
    const { jobId, read_token: readToken } = await key.api.submitJob({ body })
    await key.api.cancelJob({ params: { jobId } }, { readToken })
    await icl.clock.advance(300)
  }
}

for (const { name, test, open, blobsIn, prefix = '' } of adapters) {
  describe(`the room for prompts ${name}`, () => {
    test('stays open while strangers submit and cancel jobs, and keeps the prompts of others', async () => {
      const shared = { ...createShared(), store: await open() }
      const { clock, store } = shared
      const blobs = blobsIn(store, clock)
      const icl = await createReplica(shared, { blobs })
      const nodes = await joinNodes(icl, 3)
      const answered = await upload(icl, 'answered')
      await runJob(icl, nodes, ['yes', 'yes', 'yes'], { client: 'answered', promptCid: answered })
      const running = await upload(icl, 'running')
      const job = await submit(icl, { client: 'running', promptCid: running })
      await claim(nodes.find(({ address }) => address === job.leader)!, job.jobId)
      await flood(icl)
      expect(await codeOf(upload(icl, 'ordinary'))).toBeUndefined()
      const ordinary = await upload(icl, 'ordinary again')
      for (const cid of [answered, running, ordinary]) expect(await blobs.get(cid)).toBeDefined()
      await clock.advance(15_000)
      const query = { model_id: modelId, min_tier: 0, verifier_count: 2 }
      const preview = await icl.api().previewQuorum({ query })
      expect(preview.prompt_room_bytes).toBe(roomBytes / 2 - 2 * blobBytes)
      await clock.jump(2 * 3_600_000)
      await clock.advance(120_000)
      expect(await store.countBlobBytes(`${prefix}wallet`)).toBe(2 * blobBytes)
      for (const cid of [answered, running]) expect(await blobs.get(cid)).toBeDefined()
      await icl.stop()
      await store.close()
    })
  })
}

it('a prompt that was submitted without an upload is kept from the claim on, if it comes later', async () => {
  const icl = await createTestIcl()
  const nodes = await joinNodes(icl, 3)
  const body = new Uint8Array(32).fill(1)
  const job = await submit(icl, { promptCid: await cidOf(body) })
  await job.api.putBlob({ query: storedKey(icl, 'client'), body })
  for (const node of nodes) await claim(node, job.jobId)
  await icl.clock.jump(29 * 86_400_000)
  await icl.clock.advance(120_000)
  expect(await icl.deps.blobs.get(job.body.prompt_cid)).toEqual(body)
  await icl.stop()
})
