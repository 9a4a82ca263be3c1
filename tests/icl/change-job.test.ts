import { describe, expect, it } from 'vitest'
import { changeJob, loadJob } from '../../icl/operations/change-job.ts'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import type { Store } from '../../icl/store/store.ts'
import { codeOf } from '../code-of.ts'
import { submit } from './test-client.ts'
import { createTestIcl, joinNode } from './test-icl.ts'

/** An ICL with a job, and a store that lets somebody else save first as often as the test says. */
async function withRival(times: number) {
  const memory = createMemoryStore()
  const rival = { left: 0, saves: 0 }
  const store: Store = {
    ...memory,
    saveAll: async (writes, writeId) => {
      const write = writes.find((one) => one.kind === 'job')
      if (write && write.base > 0 && rival.left-- > 0) {
        const found = await memory.findJob(write.job.id)
        if (!found) throw new Error('There is no job')
        rival.saves++
        await memory.save({
          kind: 'job',
          job: { ...found.document, commitError: `rival ${rival.saves}` },
          base: found.version,
        })
      }
      return memory.saveAll(writes, writeId)
    },
  }
  const icl = await createTestIcl({ store })
  for (const name of ['n1', 'n2', 'n3']) await joinNode(icl, name)
  const { jobId } = await submit(icl, { commit: false })
  await icl.stop()
  rival.left = times
  return { icl, jobId, rival }
}

describe('a job that somebody else changes at the same time', () => {
  it('is looked at again, so that neither change is lost', async () => {
    const { icl, jobId, rival } = await withRival(2)
    const seen: (string | undefined)[] = []
    const job = await changeJob(icl.deps, jobId, async (now) => {
      seen.push(now.commitError)
      return { type: 'cancel' }
    })
    expect(seen).toEqual([undefined, 'rival 1', 'rival 2'])
    expect([job.commitError, job.phase]).toEqual(['rival 2', 'cancelled'])
    expect(await loadJob(icl.deps, jobId)).toEqual(job)
    expect(rival.saves).toBe(2)
  })

  it('is given up after fifty tries, and nothing is said to be done', async () => {
    const { icl, jobId } = await withRival(1_000)
    expect(await codeOf(changeJob(icl.deps, jobId, { type: 'cancel' }))).toBe('unavailable')
    expect((await loadJob(icl.deps, jobId)).phase).toBe('open')
  })

  it('is not saved for a command that changes nothing', async () => {
    const { icl, jobId, rival } = await withRival(1)
    await changeJob(icl.deps, jobId, { type: 'tick' })
    expect(rival.saves).toBe(0)
  })
})
