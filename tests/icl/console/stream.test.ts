import { describe, expect, it } from 'vitest'
import { createViewers } from '../../../icl/console/viewers.ts'
import type { Store } from '../../../icl/store/store.ts'
import { noMetrics } from '../../../icl/telemetry/metrics.ts'
import { ConsoleNews } from '../../../lib/schemas/console.ts'
import { aJobId } from '../../branded.ts'
import { codeOf } from '../../code-of.ts'
import { check, deliver, ownAssignment } from '../node-steps.ts'
import { answerJob, checkAll, delivererOf } from '../run-job.ts'
import { submit } from '../test-client.ts'
import {
  createReplica,
  createShared,
  createTestIcl,
  joinNode,
  joinNodes,
  origin,
  type TestIcl,
} from '../test-icl.ts'

/** An ICL whose calls of the store are counted. */
async function start() {
  const shared = createShared()
  const calls = new Map<string, number>()
  const store = new Proxy(shared.store, {
    get: (target, name) => {
      calls.set(String(name), (calls.get(String(name)) ?? 0) + 1)
      return Reflect.get(target, name)
    },
  }) as Store
  const icl = await createReplica(shared, { store })
  for (const name of ['n1', 'n2', 'n3']) await joinNode(icl, name)
  return { icl, calls }
}

/** Follows the console: `next` gives what the stream brings, in order. */
async function follow(icl: TestIcl) {
  const response = await icl.fetch(new Request(`${origin}/v1/console/events`))
  const reader = response.body!.getReader()
  const waiting: ConsoleNews[] = []
  const read = async () => {
    const { value, done } = await icl.clock.until(reader.read())
    if (done) return undefined
    return new TextDecoder()
      .decode(value)
      .split('\n\n')
      .filter((block) => block.startsWith('data: '))
      .map((block) => ConsoleNews.parse(JSON.parse(block.replace(/^data: /, ''))))
  }
  return {
    response,
    /** The next news of a type; undefined when the stream ends first. */
    next: async <T extends ConsoleNews['type']>(type: T) => {
      for (;;) {
        const news = waiting.shift()
        if (news?.type === type) return news as Extract<ConsoleNews, { type: T }>
        if (news) continue
        const more = await read()
        if (!more) return undefined
        waiting.push(...more)
      }
    },
    leave: () => reader.cancel(),
  }
}

describe('the stream of news', () => {
  it('starts with the overview, and brings every change of a job', async () => {
    const { icl } = await start()
    const stream = await follow(icl)
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream')
    const first = await stream.next('overview')
    expect(first?.overview.jobs_by_phase).toEqual({})
    const job = await submit(icl)
    const came = await stream.next('jobs')
    expect(came?.jobs.map(({ status }) => status)).toEqual(['open'])
    expect((await stream.next('overview'))?.overview.jobs_by_phase).toEqual({ open: 1 })
    await job.api.cancelJob({ params: { jobId: job.jobId } })
    let last = await stream.next('jobs')
    while (last?.jobs[0]?.status === 'open') last = await stream.next('jobs')
    expect(last?.jobs[0]).toMatchObject({ status: 'cancelled', jobId: job.jobId })
    await stream.leave()
    await icl.stop()
  })

  it('does not tell that a running job changed when nothing of the change is shown', async () => {
    const icl = await createTestIcl()
    const nodes = await joinNodes(icl, 4)
    const stream = await follow(icl)
    await stream.next('overview')
    const { jobId, seated } = await answerJob(icl, nodes, ['yes', 'no', 'yes', 'yes'])
    // Read while all of it happens.
    const told: string[] = []
    const reading = (async () => {
      for (;;) {
        const [one] = (await stream.next('jobs'))?.jobs ?? []
        if (!one) return
        told.push(one.status)
        if (one.status === 'accepted' && one.commit_tx !== undefined) return
      }
    })()
    await icl.clock.advance(3_000)
    const before = told.length
    await deliver(icl, (await delivererOf(seated, jobId))!, jobId)
    await icl.clock.advance(3_000)
    for (const node of seated) {
      if ((await ownAssignment(node, jobId)).step === 'differ') await check(node, jobId)
    }
    await icl.clock.advance(3_000)
    expect(told.slice(before)).toEqual([])
    await checkAll(seated, jobId)
    await icl.clock.until(reading)
    expect(told.slice(before)).toContain('accepted')
    await stream.leave()
    await icl.stop()
  })

  it('brings what another replica has saved', async () => {
    const shared = createShared()
    const a = await createReplica(shared, { replicaId: 'a' })
    const b = await createReplica(shared, { replicaId: 'b' })
    for (const name of ['n1', 'n2', 'n3']) await joinNode(a, name)
    const stream = await follow(b)
    await stream.next('overview')
    await submit(a)
    expect((await stream.next('jobs'))?.jobs).toHaveLength(1)
    await stream.leave()
    await a.stop()
    await b.stop()
  })

  it('says nothing for 15 s at most, and says to read anew when more changed than it tells', async () => {
    const { icl } = await start()
    const stream = await follow(icl)
    const first = await stream.next('overview')
    const again = await stream.next('overview')
    const quietSeconds = again!.overview.at - first!.overview.at
    expect([15, 16]).toContain(quietSeconds)
    const { document } = (await icl.deps.store.findJob((await submit(icl)).jobId))!
    for (let index = 0; index < 150; index++) {
      const id = aJobId(`0x${index.toString(16).padStart(64, 'e')}`)
      const job = { ...document, id, phase: 'cancelled' as const, settledAt: 1, outbox: [] }
      await icl.deps.store.save({ kind: 'job', job, base: 0 })
    }
    expect(await stream.next('reload')).toEqual({ type: 'reload' })
    await stream.leave()
    await icl.stop()
  })

  it('costs the store the same however many follow, and nothing while nobody does', async () => {
    const { icl, calls } = await start()
    const looksIn = async (ms: number) => {
      calls.clear()
      await icl.clock.advance(ms)
      const count = (name: string) => calls.get(name) ?? 0
      return { changes: count('listChanges'), stats: count('stats'), jobs: count('listJobs') }
    }
    expect(await looksIn(10_000)).toEqual({ changes: 0, stats: 0, jobs: 0 })
    const reading = async () => {
      const stream = await follow(icl)
      await stream.next('overview')
      // What nobody reads is not looked for.
      const news = stream.next('reload')
      return async () => {
        await stream.leave()
        await news
      }
    }
    const one = await reading()
    await icl.clock.advance(2_000)
    const alone = await looksIn(20_000)
    expect(alone.changes).toBeGreaterThan(0)
    expect(alone.jobs).toBe(0)
    const others: (typeof one)[] = []
    for (let index = 0; index < 9; index++) others.push(await reading())
    await icl.clock.advance(2_000)
    const together = await looksIn(20_000)
    expect(together.changes).toBeLessThanOrEqual(alone.changes + 2)
    expect(together.stats).toBeLessThanOrEqual(alone.stats + 2)
    for (const leave of [one, ...others]) await leave()
    await icl.clock.advance(2_000)
    expect(await looksIn(10_000)).toEqual({ changes: 0, stats: 0, jobs: 0 })
    await icl.stop()
  })

  it('ends when the ICL stops', async () => {
    const { icl } = await start()
    const stream = await follow(icl)
    await stream.next('overview')
    icl.deps.notifier.close()
    expect(await stream.next('reload')).toBeUndefined()
    await icl.stop()
  })
})

describe('those who follow', () => {
  it('are 16 of one address at most, and 256 in all', async () => {
    const held: number[] = []
    const viewers = createViewers({ ...noMetrics, held: (_, change) => held.push(change) })
    const codeFor = (address: string) => codeOf((async () => viewers.enter(address)())())
    const leaves = Array.from({ length: 16 }, () => viewers.enter('a'))
    expect(await codeFor('a')).toBe('rate-limited')
    expect(await codeFor('b')).not.toBe('rate-limited')
    leaves[0]!()
    expect(await codeFor('a')).not.toBe('rate-limited')
    for (let index = 0; index < 241; index++) viewers.enter(`c${index}`)
    expect(await codeFor('d')).toBe('rate-limited')
    expect(held.filter((change) => change === 1)).toHaveLength(259)
    expect(held.filter((change) => change === -1)).toHaveLength(3)
  })

  it('counts from when it is opened until it ends, read or not', async () => {
    const icl = await createTestIcl()
    const open = async (init?: RequestInit) =>
      icl.fetch(new Request(`${origin}/v1/console/events`, init))
    for (let index = 0; index < 20; index++) {
      expect((await open({ method: 'HEAD' })).status).toBe(200)
      const gone = new AbortController()
      expect((await open({ signal: gone.signal })).status).toBe(200)
      gone.abort()
      await (await open()).body?.cancel()
    }
    const answers = await Promise.all(Array.from({ length: 40 }, () => open()))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(16)
    await icl.stop()
  })
})
