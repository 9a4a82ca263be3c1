import { describe, expect, it } from 'vitest'
import type { Job } from '../../../icl/rules/job.ts'
import { newWebhook } from '../../../icl/rules/webhook.ts'
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

  it('what needs no chain is done, however many grants wait', async () => {
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

it('a job whose seat is to be filled ends at its deadline although the chain never says how its nodes are', async () => {
  const { clock, chain, store } = await begin()
  chain.nodesOf = () => new Promise(() => {})
  const now = clock.now()
  const job = sampleJob({ createdAt: now, deadline: now + 60_000 })
  const empty = { assignments: [], outbox: [], fillAt: now, tickAt: now }
  await store.save({ kind: 'job', job: { ...job, ...empty }, base: 0 })
  await clock.advance(76_000)
  expect((await store.findJob(job.id))!.document.phase).toBe('expired')
})
