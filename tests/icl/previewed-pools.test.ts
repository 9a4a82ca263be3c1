import { afterEach, describe, expect, it } from 'vitest'
import type { Write } from '../../icl/store/store.ts'
import { readPool } from '../../lib/pool-snapshot.ts'
import { aJobId } from '../branded.ts'
import { codeOf } from '../code-of.ts'
import { useReplicas } from './replica-set.ts'
import {
  createShared,
  createTestIcl,
  joinNode,
  modelId,
  submit,
  type TestIcl,
  walletOf,
} from './test-icl.ts'

const { start, kill, pair } = useReplicas()
let icl: TestIcl | undefined

afterEach(async () => {
  await icl?.stop()
  icl = undefined
})

let nextHandle = 7_000n

/** A preview of a client, and what submits the job that comes of it. */
async function preview(replica: TestIcl, client = walletOf('client')) {
  const look = await replica.api(client.signer).previewQuorum({
    query: { client: client.address, model_id: modelId, min_tier: 0, verifier_count: 2 },
  })
  const [kpHighHandle, kpLowHandle] = [nextHandle++, nextHandle++]
  replica.chain.store(kpHighHandle, kpLowHandle, client.address, [look.leader, ...look.verifiers])
  const body = {
    model_id: modelId,
    prompt_cid: `bafkrei${'a'.repeat(52)}`,
    kpHighHandle,
    kpLowHandle,
    preview: look.preview,
    client_nonce: kpHighHandle,
  }
  return {
    look,
    submitTo: (other: TestIcl, changes: Partial<typeof body> = {}) =>
      other.api(client.signer).submitJob({ body: { ...body, ...changes } }),
  }
}

/** The nodes of the pool of a job's first draw, from the ICL's blobs. */
async function poolOf({ deps, api }: TestIcl, jobId: `0x${string}`) {
  const draw = (await deps.store.findJob(aJobId(jobId)))?.document.draws[0]
  if (draw?.poolCid === undefined) return undefined
  return (await readPool(draw.poolCid, (cid) => api().getBlob({ params: { cid } }))).nodes
}

const poolBytes = ({ deps }: TestIcl) => deps.store.countBlobBytes('icl')

describe('the pool of a preview', () => {
  it('is written when a job comes of it, however many previews there are', async () => {
    icl = await createTestIcl()
    for (let index = 0; index < 4; index++) await joinNode(icl, `node ${index}`)
    const looks = []
    for (let index = 0; index < 5; index++) {
      looks.push(await preview(icl, walletOf(`client ${index}`)))
      await joinNode(icl, `late node ${index}`)
      await icl.clock.advance(1_500)
    }
    expect(await poolBytes(icl)).toBe(0)
    const { jobId } = await looks[0]!.submitTo(icl)
    expect(await poolOf(icl, jobId)).toHaveLength(4)
  })

  it('is there for another try, as the preview is, also for another job, when it could not be written', async () => {
    const refused = new Set<Write['kind']>()
    const shared = createShared()
    const store = {
      ...shared.store,
      save: async (write: Write, id?: string) => {
        if (refused.has(write.kind)) throw new Error('the store is away')
        return shared.store.save(write, id)
      },
    }
    const one = await start(shared, 'one', { store })
    for (let index = 0; index < 4; index++) await joinNode(one, `node ${index}`)
    const { submitTo } = await preview(one)
    refused.add('blob')
    const failing = await shared.clock.until(submitTo(one).catch((error: unknown) => error))
    expect(failing).toBeInstanceOf(Error)
    refused.clear()
    const other = { client_nonce: 1n }
    const { jobId } = await shared.clock.until(submitTo(one, other))
    expect(await poolOf(one, jobId)).toHaveLength(4)
    expect((await submitTo(one, other)).jobId).toBe(jobId)
    expect(await codeOf(submitTo(one))).toBe('preview-invalid')
  })

  it('leaves its draw without a pool when there is no room, and the log says so', async () => {
    icl = await createTestIcl()
    for (let index = 0; index < 4; index++) await joinNode(icl, `node ${index}`)
    const { submitTo } = await preview(icl)
    Object.assign(icl.deps.blobs, { put: async () => false })
    const { jobId } = await submitTo(icl)
    expect(await poolOf(icl, jobId)).toBeUndefined()
    expect(icl.logged.join('\n')).toContain('no room for a pool snapshot')
  })
})

describe('the pool of a preview that another replica gave', () => {
  it('is made again there, when it has not changed', async () => {
    const { a, b } = await pair()
    const { submitTo } = await preview(a)
    kill(a)
    const { jobId } = await submitTo(b)
    expect(await poolOf(b, jobId)).toHaveLength(3)
  })

  it('is had from that replica, when it has changed', async () => {
    const { a, b, clock } = await pair()
    const { submitTo } = await preview(a)
    await joinNode(b, 'late node')
    const { jobId } = await clock.until(submitTo(b))
    expect(await poolOf(b, jobId)).toHaveLength(3)
  })

  it('makes the preview stale when it has changed and that replica is gone, and the next one works', async () => {
    const { a, b, clock } = await pair()
    const { submitTo } = await preview(a)
    await joinNode(b, 'late node')
    kill(a)
    expect(await codeOf(clock.until(submitTo(b)))).toBe('preview-stale')
    const { jobId } = await submit(b)
    expect(await poolOf(b, jobId)).toHaveLength(4)
  })

  it('is missing from the draw when that replica has no room for it', async () => {
    const { a, b, clock } = await pair()
    const { submitTo } = await preview(a)
    await joinNode(b, 'late node')
    Object.assign(a.deps.blobs, { put: async () => false })
    const { jobId } = await clock.until(submitTo(b))
    expect(await poolOf(b, jobId)).toBeUndefined()
  })
})
