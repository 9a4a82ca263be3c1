import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createMemoryStore } from '../../icl/store/memory.ts'
import type { Store, Write } from '../../icl/store/store.ts'
import {
  beat,
  createTestIcl,
  joinNode,
  modelId,
  type TestIcl,
  type TestNode,
  walletOf,
} from './test-icl.ts'

let icl: TestIcl
let nodes: TestNode[]
/** What comes before and after each write; it never happens when the first throws. */
let before: (write: Write) => Promise<void>
let after: (write: Write) => Promise<void>

beforeEach(async () => {
  before = after = async () => {}
  const store = createMemoryStore()
  const save: Store['save'] = async (write, writeId) => {
    await before(write)
    const isSaved = await store.save(write, writeId)
    await after(write)
    return isSaved
  }
  icl = await createTestIcl({ store: { ...store, save } })
  nodes = []
  for (const name of ['n1', 'n2', 'n3', 'n4', 'n5', 'n6']) nodes.push(await joinNode(icl, name))
})
afterEach(() => icl.stop())

const client = walletOf('client')
const previewId = 'preview:'

/** Lets no new job be saved. */
const loseJobs = async (write: Write) => {
  if (write.kind === 'job' && write.base === 0) throw new Error('the store is away')
}

const preview = async () => {
  const query = { client: client.address, model_id: modelId, min_tier: 0, verifier_count: 2 }
  return (await icl.api(client.signer).previewQuorum({ query })).preview
}

/** Submits one of the client's jobs; gives its phase, or the code of the refusal. */
async function submitted(nonce: bigint, token: string): Promise<string> {
  const [high, low] = [2n * nonce, 2n * nonce + 1n]
  icl.chain.store(high, low, client.address, [])
  const body = {
    model_id: modelId,
    prompt_cid: `bafkrei${'a'.repeat(52)}`,
    kpHighHandle: high,
    kpLowHandle: low,
    preview: token,
    client_nonce: nonce,
  }
  return await icl
    .api(client.signer)
    .submitJob({ body })
    .then(({ status }) => status, codeOfError)
}

const codeOfError = (error: unknown) =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error)

/** Lets time pass for nodes that stay in the pool. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 20_000) {
    await icl.clock.advance(Math.min(left, 20_000))
    for (const node of nodes) {
      await beat(icl, node)
      await node.api.getAssignments({ params: { address: node.address }, query: { wait: 0 } })
    }
  }
}

describe('a draw that was taken for a job', () => {
  it('which was never saved goes to another after 10 s, not before', async () => {
    before = loseJobs
    expect(await submitted(1n, await preview())).toBe('internal-error')
    before = async () => {}
    expect(await submitted(2n, await preview())).toBe('preview-invalid')
    await icl.clock.advance(9_000)
    expect(await submitted(2n, await preview())).toBe('preview-invalid')
    await icl.clock.advance(1_500)
    expect(await submitted(2n, await preview())).toBe('open')
  })

  it('waits for the same submission, which may come again at any time', async () => {
    const token = await preview()
    before = loseJobs
    expect(await submitted(1n, token)).toBe('internal-error')
    before = async () => {}
    await icl.clock.advance(3_000)
    expect(await submitted(1n, token)).toBe('open')
  })

  it('is for nobody in its last 2 s, and then for the same submission as for any', async () => {
    const token = await preview()
    before = loseJobs
    expect(await submitted(1n, token)).toBe('internal-error')
    before = async () => {}
    await icl.clock.advance(8_500)
    expect(await submitted(1n, token)).toBe('unavailable')
    await icl.clock.advance(2_000)
    expect(await submitted(1n, token)).toBe('open')
  })

  it('stays with a job that is there, however old', async () => {
    const token = await preview()
    expect(await submitted(1n, token)).toBe('open')
    await icl.clock.advance(11_000)
    expect(await submitted(2n, token)).toBe('preview-invalid')
  })

  it('stays with it also when another preview of the draw is valid for longer than its own', async () => {
    const epochMs = 600_000
    await pass(epochMs - (icl.clock.now() % epochMs) + 1_000)
    const first = await preview()
    await pass(5_000)
    const second = await preview()
    await pass(594_000)
    expect(await submitted(1n, first)).toBe('open')
    await pass(1_500)
    expect(await submitted(2n, second)).toBe('preview-invalid')
  })

  it('is not let go of by the same submission that was sent twice', async () => {
    const token = await preview()
    let isFirst = true
    const outcomes: string[] = []
    // The second is past its look for the job when the first takes the draw; another job comes as soon as the draw is let go of.
    before = async (write) => {
      if (write.kind !== 'key' || !write.key.startsWith(previewId) || !isFirst) return
      isFirst = false
      await icl.clock.advance(2)
      outcomes.push(await submitted(1n, token))
    }
    after = async (write) => {
      if (write.kind !== 'release-key' || !write.key.startsWith(previewId)) return
      after = async () => {}
      outcomes.push(await submitted(2n, token))
    }
    outcomes.push(await submitted(1n, token))
    expect(outcomes).toEqual(['open', 'open'])
  })

  it('by an older version, which left out when, is kept', async () => {
    const token = await preview()
    let key = ''
    before = async (write) => {
      if (write.kind === 'key' && write.key.startsWith(previewId)) key = write.key
      await loseJobs(write)
    }
    expect(await submitted(1n, token)).toBe('internal-error')
    before = async () => {}
    const { store, clock } = icl.deps
    const value = (await store.findKey(key, clock.now())) ?? ''
    await store.save({ kind: 'release-key', key, value })
    const [id = ''] = value.split('@')
    const now = clock.now()
    await store.save({ kind: 'key', key, value: id, now, expiresAt: now + 600_000 })
    await icl.clock.advance(11_000)
    expect(await submitted(2n, await preview())).toBe('preview-invalid')
  })
})
