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
    const asked: string[] = []
    const first = job.assignments[0]!.node
    chain.isAllowed = async (_, node) => {
      asked.push(node)
      return node === first ? await new Promise(() => {}) : false
    }
    await store.save({ kind: 'job', job, base: 0 })
    await clock.advance(60_000)
    for (const { node } of job.assignments.slice(1)) {
      expect(asked.filter((one) => one === node).length).toBeGreaterThan(3)
    }
  })

  it('what needs no chain is done, while 700 grants wait', async () => {
    const { clock, chain, store, sent } = await begin()
    chain.listOf = () => new Promise(() => {})
    const add = (count: number, changes: (job: Job) => Partial<Job>) => {
      const id: JobId = aJobId(`0x${String(count).padStart(64, '0')}`)
      const now = clock.now()
      const job = sampleJob({ id, createdAt: now, deadline: now + 600_000 })
      return store.save({ kind: 'job', job: { ...job, ...changes(job) }, base: 0 })
    }
    for (let count = 0; count < 700; count++) await add(count, () => ({}))
    await clock.advance(10_000)
    const effect = { type: 'notify', afterMs: 0 } as const
    await add(700, () => ({
      ...{ phase: 'expired', tickAt: undefined, webhook: newWebhook(url) },
      outbox: [{ id: 0, effect, attempts: 0, dueAt: clock.now() }],
    }))
    await clock.advance(1_000)
    expect(sent).toEqual([url])
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
