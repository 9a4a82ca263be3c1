import { expect } from 'vitest'
import type { Store } from '../../icl/store/store.ts'
import type { Log } from '../../icl/telemetry/log.ts'
import { nodeA, nodeB } from '../icl/rules/sample-job.ts'
import { eventOf, jobOf, nodeOf } from './suite.ts'

/** Where a document is that is to be damaged: its table or collection, and there its id in the column `key`. */
export type Damaged = {
  readonly table: 'jobs' | 'nodes' | 'events'
  readonly key: 'id' | 'address'
  readonly id: string
}

/** One document of each kind that cannot be read, beside others: lists go on without it, and the log names it once. */
export async function checkUnreadable(
  open: (log: Log) => Promise<Store>,
  damage: (what: Damaged) => Promise<void>,
): Promise<void> {
  const told: { readonly message: string; readonly hint: unknown }[] = []
  const ignore = () => {}
  const error: Log['error'] = (message, fields) => void told.push({ message, hint: fields?.hint })
  const store = await open({ debug: ignore, info: ignore, warn: ignore, error })
  const jobs = ['1', '2', '3'].map((digit, at) => jobOf(digit, { createdAt: at }))
  for (const job of jobs) await store.save({ kind: 'job', job, base: 0 })
  for (const node of [nodeA, nodeB]) {
    await store.save({ kind: 'node', node: nodeOf(node), base: 0 })
  }
  const events = [eventOf('a', 1), eventOf('b', 2), eventOf('c', 3)]
  for (const event of events) await store.save({ kind: 'event', event })
  const [first, second, third] = jobs.map(({ id }) => id)
  if (first === undefined || second === undefined) throw new Error('There are no jobs')
  await damage({ table: 'jobs', key: 'id', id: second })
  await damage({ table: 'nodes', key: 'address', id: nodeA })
  await damage({ table: 'events', key: 'id', id: 'b' })

  for (let time = 0; time < 2; time++) {
    const nodes = await store.listNodes(0)
    expect(nodes.map(({ address }) => address)).toEqual([nodeB])
    // Another takes its place in a page: a short page would end the list.
    const { client } = jobs[0] ?? {}
    if (client === undefined) throw new Error('The job has no client')
    for (const page of [
      await store.listJobs({ limit: 2 }),
      await store.listJobs({ client, limit: 2 }),
    ]) {
      expect(page.map(({ id }) => id)).toEqual([third, first])
    }
    const page = await store.listReputationEvents(nodeA, { limit: 2 })
    expect(page.map(({ id }) => id)).toEqual(['c', 'a'])
    await expect(store.findNode(nodeA)).rejects.toMatchObject({ code: 'store-corrupt' })
    await expect(store.findJob(second)).rejects.toMatchObject({ code: 'store-corrupt' })
  }
  const named = [nodeA, second, 'b'].map((id) => ({
    message: expect.stringContaining(id),
    hint: expect.stringMatching(/[Rr]estore/),
  }))
  expect(told).toHaveLength(named.length)
  expect(told).toEqual(expect.arrayContaining(named))
  expect(store.status().reasons).toEqual([
    'records in the database that cannot be read: 3; the log names them',
  ])
  await store.close()
}
