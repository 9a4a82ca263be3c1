import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createMemoryStore } from '../../icl/store/memory.ts'
import type { Store, Write } from '../../icl/store/store.ts'
import { codeOf } from '../code-of.ts'
import { createTestIcl, joinNode, modelId, submit, type TestIcl, walletOf } from './test-icl.ts'

let icl: TestIcl
/** What comes before the next save of a job; it never happens when this throws. */
let beforeJob: () => Promise<void> = async () => {}

beforeEach(async () => {
  beforeJob = async () => {}
  const store = createMemoryStore()
  const save: Store['save'] = async (write: Write, writeId) => {
    if (write.kind === 'job' && write.base === 0) await beforeJob()
    return await store.save(write, writeId)
  }
  icl = await createTestIcl({ store: { ...store, save } })
  for (const name of ['n1', 'n2', 'n3']) await joinNode(icl, name)
})
afterEach(() => icl.stop())

const fails = async () => {
  throw new Error('the store is away')
}

describe('a draw that was taken for a job', () => {
  it('which was never saved goes to another after 10 s, not before', async () => {
    beforeJob = fails
    await expect(submit(icl)).rejects.toThrow()
    beforeJob = async () => {}
    expect(await codeOf(submit(icl))).toBe('preview-invalid')
    await icl.clock.advance(9_000)
    expect(await codeOf(submit(icl))).toBe('preview-invalid')
    await icl.clock.advance(1_500)
    expect((await submit(icl)).status).toBe('open')
  })

  it('waits for the same submission, which may come again at any time', async () => {
    const client = walletOf('client')
    const api = icl.api(client.signer)
    const { preview } = await api.previewQuorum({
      query: { client: client.address, model_id: modelId, min_tier: 0, verifier_count: 2 },
    })
    icl.chain.store(1n, 2n, client.address, [])
    const body = {
      model_id: modelId,
      prompt_cid: `bafkrei${'a'.repeat(52)}`,
      kpHighHandle: 1n,
      kpLowHandle: 2n,
      preview,
      client_nonce: 1n,
    }
    beforeJob = fails
    await expect(api.submitJob({ body })).rejects.toThrow()
    beforeJob = async () => {}
    await icl.clock.advance(3_000)
    expect((await api.submitJob({ body })).status).toBe('open')
  })

  it('stays with a job that is there, however old', async () => {
    const { api, body } = await submit(icl)
    await icl.clock.advance(11_000)
    const other = { ...body, client_nonce: 7n }
    expect(await codeOf(api.submitJob({ body: other }))).toBe('preview-invalid')
  })
})
