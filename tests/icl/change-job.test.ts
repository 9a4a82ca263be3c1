import { describe, expect, it } from 'vitest'
import { changeJob, loadJob } from '../../icl/operations/change-job.ts'
import type { Job } from '../../icl/rules/job.ts'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import type { Store } from '../../icl/store/store.ts'
import { ProblemError } from '../../lib/problem.ts'
import { aHash } from '../branded.ts'
import { codeOf } from '../code-of.ts'
import { claim } from './node-steps.ts'
import { submit } from './test-client.ts'
import { createTestIcl, joinNode } from './test-icl.ts'

/** An ICL with a job, and a store in which another writer saves first as often as the test says. */
async function withRival(times: number) {
  const memory = createMemoryStore()
  const rival = { left: 0, saves: 0 }
  const store: Store = {
    ...memory,
    saveAll: async (writes) => {
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
      return memory.saveAll(writes)
    },
  }
  const icl = await createTestIcl({ store })
  for (const name of ['n1', 'n2', 'n3']) await joinNode(icl, name)
  const { jobId } = await submit(icl, { commit: false })
  await icl.stop()
  rival.left = times
  return { icl, jobId, rival }
}

describe('a job that another writer changes at the same time', () => {
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

describe('changes of a job that come together', () => {
  /** An ICL with a job that its nodes have claimed, and the commands by which they commit. */
  async function withCommitments(...fails: Store['saveAll'][]) {
    const saves: Store['saveAll'][] = []
    const memory = createMemoryStore()
    const saved: number[] = []
    const store: Store = {
      ...memory,
      saveAll: (writes) => {
        const job = writes.find((one) => one.kind === 'job')
        if (job) saved.push(job.base)
        return (saves.shift() ?? memory.saveAll)(writes)
      },
    }
    const icl = await createTestIcl({ store })
    const nodes = []
    for (const name of ['n1', 'n2', 'n3']) nodes.push(await joinNode(icl, name))
    const { jobId } = await submit(icl)
    await icl.clock.advance(1_000)
    await Promise.all(nodes.map((node) => claim(node, jobId)))
    await icl.stop()
    const { assignments } = await loadJob(icl.deps, jobId)
    const commands = assignments.map(
      ({ node, fence }) =>
        ({ type: 'commit', node, fence, commitment: aHash(`0x${'ab'.repeat(32)}`) }) as const,
    )
    saved.length = 0
    saves.push(...fails)
    return { icl, jobId, commands, saved }
  }
  const committed = (job: Job) => job.assignments.filter(({ status }) => status === 'committed')

  it('are saved once, and each is told of the job as it left it', async () => {
    const { icl, jobId, commands, saved } = await withCommitments()
    const jobs = await Promise.all(commands.map((one) => changeJob(icl.deps, jobId, one)))
    expect(jobs.map((job) => committed(job).length)).toEqual([1, 2, 3])
    expect(saved).toHaveLength(1)
    expect(await loadJob(icl.deps, jobId)).toEqual(jobs.at(-1))
  })

  it('fail alone: a refused one and one that throws are not saved, the others are', async () => {
    const { icl, jobId, commands, saved } = await withCommitments(async (writes) => writes.at(-1))
    const [first, second, third] = commands
    if (!first || !second || !third) throw new Error('Three nodes have claims')
    const tries = { broken: 0 }
    const broken = async () => {
      tries.broken++
      throw new Error('broken')
    }
    const [one, refused, failed, last] = await Promise.allSettled([
      changeJob(icl.deps, jobId, first),
      changeJob(icl.deps, jobId, { ...second, fence: 99 }),
      changeJob(icl.deps, jobId, broken),
      changeJob(icl.deps, jobId, third),
    ])
    expect([one.status, refused.status, failed.status, last.status]).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
    ])
    // The first save was refused, so that what had failed beside it was tried again.
    expect([saved.length, tries.broken]).toEqual([2, 2])
    expect(committed(await loadJob(icl.deps, jobId)).map(({ fence }) => fence)).toEqual([
      first.fence,
      third.fence,
    ])
  })

  it('are tried again when their save is refused, and so is what failed beside them', async () => {
    const { icl, jobId, commands } = await withCommitments(async (writes) => writes.at(-1))
    const [first] = commands
    if (!first) throw new Error('Three nodes have claims')
    let tries = 0
    const beside = async () => {
      if (++tries === 1) throw new Error('It rests on what was not saved')
      return undefined
    }
    const jobs = [changeJob(icl.deps, jobId, first), changeJob(icl.deps, jobId, beside)]
    expect((await Promise.all(jobs)).map((job) => committed(job).length)).toContain(1)
    expect(tries).toBe(2)
  })

  it('all fail when their save does', async () => {
    const { icl, jobId, commands } = await withCommitments(async () => {
      throw new ProblemError('unavailable', 'The disk is full')
    })
    const codes = commands.map((one) => codeOf(changeJob(icl.deps, jobId, one)))
    expect(await Promise.all(codes)).toEqual(['unavailable', 'unavailable', 'unavailable'])
    expect(committed(await loadJob(icl.deps, jobId))).toEqual([])
  })
})
