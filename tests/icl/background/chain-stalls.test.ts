import { describe, expect, it } from 'vitest'
import type { Job } from '../../../icl/rules/job.ts'
import { newWebhook } from '../../../icl/rules/webhook.ts'
import { createMemoryStore } from '../../../icl/store/memory/store.ts'
import type { Store } from '../../../icl/store/store.ts'
import type { JobId } from '../../../lib/codecs.ts'
import { aJobId } from '../../branded.ts'
import { useReplicas } from '../replica-set.ts'
import { sampleJob } from '../rules/sample-job.ts'
import { runJob } from '../run-job.ts'
import { createShared, joinNodes } from '../test-icl.ts'

const { start } = useReplicas()
const url = 'https://receiver.example/hook'

/** An ICL whose messages to clients' servers all arrive. */
async function begin() {
  const shared = createShared()
  const sent: string[] = []
  const webhooks = {
    allowPrivate: false,
    send: async ({ url: to }: { readonly url: string }) => {
      sent.push(to)
      return { status: 200 }
    },
  }
  const icl = await start(shared, 'a', { webhooks })
  return { ...shared, icl, sent }
}

describe('while the chain puts nothing into a block', () => {
  it('a server hears of an accepted job whose result waits, and its nodes are scored', async () => {
    const { icl, clock, chain, store, sent } = await begin()
    const nodes = await joinNodes(icl, 3)
    chain.commitResults = () => new Promise(() => {})
    const { listReputationEvents } = store
    const { jobId } = await runJob(icl, nodes, ['yes', 'yes', 'yes'], {
      webhook: url,
      beforeVerdicts: () => {
        store.listReputationEvents = async () => {
          throw new Error('this read fails')
        }
      },
    })
    await clock.advance(2_000)
    store.listReputationEvents = listReputationEvents
    await clock.advance(70_000)
    const { commitTx } = (await store.findJob(jobId))!.document
    const events = await Promise.all(
      nodes.map(({ address }) => listReputationEvents(address, { limit: 10 })),
    )
    expect([commitTx, sent, events.map(({ length }) => length)]).toEqual([
      undefined,
      [url],
      [1, 1, 1],
    ])
  })

  it('scores that were lost with a group of saves are made again before the result is noted', async () => {
    const { clock, chain } = createShared()
    const memory = createMemoryStore()
    const lost: (() => void)[] = []
    let isLosing = false
    const store = {
      ...memory,
      commits: {
        barrier: () => async () => {},
        onLost: (listener: () => void) => void lost.push(listener),
        onForeign: () => {},
      },
      // Saves of scores that return, and are rolled back later.
      saveAll: async (writes: Parameters<Store['saveAll']>[0]) => {
        const isScore = writes.some(({ kind }) => kind === 'event')
        return isLosing && isScore ? undefined : await memory.saveAll(writes)
      },
    }
    const icl = await start({ clock, chain, store }, 'a')
    const nodes = await joinNodes(icl, 3)
    const { commitResults } = chain
    const block = Promise.withResolvers<void>()
    chain.commitResults = async (...results) => {
      await block.promise
      return await commitResults(...results)
    }
    await runJob(icl, nodes, ['yes', 'yes', 'yes'])
    await clock.advance(1_000)
    const { jobId } = await runJob(icl, nodes, ['no', 'no', 'no'], {
      beforeVerdicts: () => {
        isLosing = true
      },
    })
    await clock.advance(300)
    isLosing = false
    for (const lose of lost) lose()
    await clock.advance(5_000)
    block.resolve()
    chain.commitResults = commitResults
    await clock.advance(120_000)
    expect((await store.findJob(jobId))!.document.outbox).toEqual([])
    const events = await Promise.all(
      nodes.map(({ address }) => store.listReputationEvents(address, { limit: 10 })),
    )
    expect(events.flat().filter((event) => event.jobId === jobId)).toHaveLength(3)
  })

  it('a read that hangs for one grant of a job holds up no other', async () => {
    const { clock, chain, store } = await begin()
    const now = clock.now()
    const job = sampleJob({ createdAt: now, deadline: now + 600_000 })
    const asked: { readonly node: string; readonly at: number }[] = []
    const first = job.assignments[0]!.node
    chain.isAllowed = async (_, node) => {
      asked.push({ node, at: clock.now() - now })
      return node === first ? await new Promise(() => {}) : false
    }
    await store.save({ kind: 'job', job, base: 0 })
    await clock.advance(60_000)
    for (const { node } of job.assignments.slice(1)) {
      const times = asked.flatMap((one) => (one.node === node ? [one.at] : []))
      expect([...new Set(times)].slice(0, 6)).toEqual([250, 1_300, 2_550, 4_050, 5_800, 8_050])
    }
  })

  /** Adds 700 jobs whose grants wait. */
  async function beginWithGrants() {
    const begun = await begin()
    const { clock, chain, store } = begun
    chain.listOf = () => new Promise(() => {})
    const add = async (count: number, changes: (job: Job) => Partial<Job>) => {
      const id: JobId = aJobId(`0x${String(count).padStart(64, '0')}`)
      const now = clock.now()
      const job = sampleJob({ id, createdAt: now, deadline: now + 600_000 })
      await store.save({ kind: 'job', job: { ...job, ...changes(job) }, base: 0 })
      return id
    }
    for (let count = 0; count < 700; count++) await add(count, () => ({}))
    return { ...begun, add }
  }

  it('what needs no chain is done, while 700 grants wait', async () => {
    const { clock, sent, add } = await beginWithGrants()
    await clock.advance(10_000)
    const effect = { type: 'notify', afterMs: 0 } as const
    await add(700, () => ({
      ...{ phase: 'expired', tickAt: undefined, webhook: newWebhook(url) },
      outbox: [{ id: 0, effect, attempts: 0, dueAt: clock.now() }],
    }))
    await clock.advance(1_000)
    expect(sent).toEqual([url])
  })

  it('what waits is not listed again and again, while 700 grants wait', async () => {
    const { clock, store } = await beginWithGrants()
    await clock.advance(10_000)
    const { listDue } = store
    let listed = 0
    store.listDue = async (...asked) => {
      const ids = await listDue(...asked)
      listed += ids.length
      return ids
    }
    await clock.advance(60_000)
    expect(listed).toBeGreaterThanOrEqual(700)
    expect(listed).toBeLessThan(15 * 700)
  })

  it('grants that a settled job does not need any more leave it, while 700 wait', async () => {
    const { clock, store, add } = await beginWithGrants()
    await clock.advance(10_000)
    const id = await add(700, () => ({ phase: 'expired', tickAt: undefined }))
    await clock.advance(1_000)
    expect((await store.findJob(id))!.document.outbox).toEqual([])
  })

  it('jobs that wait are not looked at all at once after a pause of the store', async () => {
    const { clock, store } = await beginWithGrants()
    await clock.advance(10_000)
    const { listDue, findJob } = store
    store.listDue = async () => {
      throw new Error('the store is away')
    }
    await clock.advance(10_000)
    Object.assign(store, { listDue })
    const looks = new Map<number, Set<JobId>>()
    store.findJob = (id) => {
      const now = clock.now()
      looks.set(now, (looks.get(now) ?? new Set()).add(id))
      return findJob(id)
    }
    await clock.advance(10_000)
    // Those whose grants are under way, and 64 of the others.
    for (const looked of looks.values()) expect(looked.size).toBeLessThan(256 + 64 + 10)
    expect(new Set([...looks.values()].flatMap((ids) => [...ids])).size).toBe(700)
  })
})

it('a job whose seat is to be filled ends 15 s after its deadline at most although the chain never tells the state of its nodes', async () => {
  const { clock, chain, store } = await begin()
  chain.nodesOf = () => new Promise(() => {})
  const now = clock.now()
  const job = sampleJob({ createdAt: now, deadline: now + 60_000 })
  const empty = { assignments: [], outbox: [], fillAt: now, tickAt: now }
  await store.save({ kind: 'job', job: { ...job, ...empty }, base: 0 })
  await clock.advance(76_000)
  expect((await store.findJob(job.id))!.document.phase).toBe('expired')
})
