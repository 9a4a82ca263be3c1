import { describe, expect, it } from 'vitest'
import { minutesOf } from '../../../icl/console/minutes.ts'
import { type Access, openAccess } from '../../../icl/rules/access.ts'
import { sha256Hex, utf8 } from '../../../lib/digest.ts'
import { endpoints } from '../../../lib/endpoints.ts'
import type { ConsoleJob } from '../../../lib/schemas/console.ts'
import { codeOf } from '../../code-of.ts'
import { runJob } from '../run-job.ts'
import { submit } from '../test-client.ts'
import { createTestIcl, joinNode, origin, type TestNode } from '../test-icl.ts'

const metricsToken = 'the token of the operator'

async function start(nodes = 4, access: Partial<Access> = {}) {
  const icl = await createTestIcl({ access: { ...openAccess, ...access } })
  const joined: TestNode[] = []
  for (let index = 0; index < nodes; index++) joined.push(await joinNode(icl, `n${index}`))
  return { icl, nodes: joined, api: icl.api() }
}

describe('the overview', () => {
  it('counts jobs by phase and by the minute in which they settled', async () => {
    const { icl, nodes, api } = await start()
    await runJob(icl, nodes, ['yes', 'yes', 'yes'])
    const running = await submit(icl)
    await icl.clock.advance(2_000)
    const overview = await api.getConsoleOverview()
    expect(overview.jobs_by_phase).toEqual({ accepted: 1, open: 1 })
    expect(overview.nodes).toEqual({ certified: 4, active: 4 })
    expect(overview.waiting_since).toBeGreaterThan(overview.at - 10)
    expect(overview.refused).toEqual({})
    expect(overview.minutes).toHaveLength(61)
    expect(overview.minutes_since).toBe(overview.minutes![0]!.at)
    const settled = overview.minutes!.filter(({ accepted }) => accepted > 0)
    expect(settled).toHaveLength(1)
    expect(settled[0]).toMatchObject({ accepted: 1, failed: 0, cancelled: 0 })
    expect(settled[0]?.median_seconds).toBe(settled[0]?.p95_seconds)
    await running.api.cancelJob({ params: { jobId: running.jobId } })
    const unserved = { query: { model_id: 'openai:nobody', min_tier: 0, verifier_count: 2 } }
    expect(await codeOf(api.previewQuorum(unserved))).toBe('not-enough-serving')
    await icl.clock.advance(2_000)
    const later = await api.getConsoleOverview()
    expect([later.waiting_since, later.refused]).toEqual([null, { 'not-enough-serving': 1 }])
    expect(later.minutes!.reduce((sum, { cancelled }) => sum + cancelled, 0)).toBe(1)
    await icl.stop()
  })

  it('says what is known while the chain is away', async () => {
    const { icl, api } = await start(1)
    icl.chain.down = new Error('no chain')
    await icl.clock.advance(5_000)
    const overview = await icl.clock.until(api.getConsoleOverview())
    expect(overview.chain.connected).toBe(false)
    expect(overview.nodes).toBeNull()
    expect(overview.jobs_by_phase).toEqual({})
    expect(overview.reasons.join()).toContain('chain')
    await icl.stop()
  })

  it('says what is known while the store is away', async () => {
    const { icl, api } = await start(1)
    const { store } = icl.deps
    const away = async () => {
      throw new Error('no store')
    }
    Object.assign(store, { ping: away, stats: away, listNodes: away, listChanges: away })
    await icl.clock.advance(5_000)
    const overview = await icl.clock.until(api.getConsoleOverview())
    expect(overview).toMatchObject({
      ready: false,
      outbox: null,
      jobs_by_phase: null,
      minutes: null,
      minutes_since: null,
    })
    await icl.stop()
  })
})

it('the minutes of an hour have every job that settled in them, and how long the accepted ones took', () => {
  const job = (settled_at: number, seconds: number, status: ConsoleJob['status']): ConsoleJob => ({
    ref: '0123456789abcdef',
    status,
    model_id: 'openai:m',
    min_tier: 0,
    comparator: 'exact',
    quorum: 3,
    created_at: 0,
    settled_at,
    seconds,
  })

  const now = 360_030
  const durations = Array.from({ length: 20 }, (_, index) => index + 1)
  const minutes = minutesOf(
    [
      ...durations.map((seconds) => job(359_999, seconds, 'accepted')),
      job(359_945, 900, 'expired'),
      job(359_945, 900, 'cancelled'),
      job(360_000, 3, 'accepted'),
      job(356_399, 3, 'accepted'),
      { ...job(0, 0, 'running'), settled_at: undefined },
    ],
    now,
  )
  expect(minutes).toHaveLength(61)
  expect(minutes[0]?.at).toBe(356_400)
  expect(minutes.at(-1)).toEqual({
    at: 360_000,
    accepted: 1,
    failed: 0,
    cancelled: 0,
    median_seconds: 3,
    p95_seconds: 3,
  })
  expect(minutes.at(-2)).toEqual({
    at: 359_940,
    accepted: 20,
    failed: 1,
    cancelled: 1,
    median_seconds: 10,
    p95_seconds: 19,
  })
  expect(minutes[0]).toEqual({ at: 356_400, accepted: 0, failed: 0, cancelled: 0 })
})

describe('the lists', () => {
  it('have every node with its standing, and why it cannot be drawn', async () => {
    const { icl, nodes, api } = await start()
    await runJob(icl, nodes, ['yes', 'yes', 'yes'])
    await icl.clock.advance(200_000)
    const { nodes: listed, next_cursor } = await api.getConsoleNodes({ query: {} })
    expect(next_cursor).toBeNull()
    const addresses = listed.map(({ address }) => address)
    expect(new Set(addresses)).toEqual(new Set(nodes.map(({ address }) => address)))
    expect(addresses).toEqual(addresses.toSorted((a, b) => (a < b ? -1 : 1)))
    for (const node of listed) {
      expect(node.active).toBe(false)
      expect(node.reasons).toEqual(['no-heartbeat', 'no-recent-poll'])
    }
    expect(listed.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(3)
    await icl.stop()
  })

  it('have the jobs of one phase or all, and one by its id or its ref', async () => {
    const { icl, nodes, api } = await start()
    const { job } = await runJob(icl, nodes, ['yes', 'yes', 'yes'])
    await icl.clock.advance(1_000)
    const { jobId } = await submit(icl)
    const all = await api.getConsoleJobs({ query: {} })
    expect(all.jobs.map(({ status }) => status)).toEqual(['open', 'accepted'])
    const accepted = await api.getConsoleJobs({ query: { phase: 'accepted' } })
    expect(accepted.jobs.map(({ jobId }) => jobId)).toEqual([job.jobId])
    const [open, settled] = all.jobs
    expect(open?.jobId).toBeUndefined()
    // The chain names the ids of running jobs.
    expect(await codeOf(api.getConsoleJob({ params: { job: jobId } }))).toBe('job-not-found')
    expect((await api.getConsoleJob({ params: { job: open!.ref } })).job).toEqual(open)
    const digest = await sha256Hex(utf8(`svc-console-v1:${jobId}`))
    expect(digest.slice(-64, -48)).not.toBe(open!.ref)
    const byRef = await api.getConsoleJob({ params: { job: settled!.ref } })
    expect(byRef).toEqual(await api.getConsoleJob({ params: { job: job.jobId } }))
    expect(await codeOf(api.getConsoleJob({ params: { job: '0'.repeat(16) } }))).toBe(
      'job-not-found',
    )
    await icl.stop()
  })
})

describe('who sees the console', () => {
  const paths = Object.values(endpoints)
    .map(({ path }) => path)
    .filter((path) => path.includes('/console'))
    .map((path) => path.replace('{job}', '0'.repeat(16)))

  const statusesOf = async (access: Partial<Access>, headers: Record<string, string> = {}) => {
    const { icl } = await start(0, access)
    const statuses: number[] = []
    for (const path of paths) {
      const response = await icl.fetch(new Request(`${origin}${path}`, { headers }))
      statuses.push(response.status)
      await response.body?.cancel()
    }
    await icl.stop()
    return statuses
  }
  const bearer = { authorization: `Bearer ${metricsToken}` }

  it('is everybody, unless the operator says otherwise', async () => {
    expect(paths).toHaveLength(6)
    expect(await statusesOf({})).toEqual([200, 200, 200, 200, 404, 200])
  })

  it('must have the token, where that is asked for', async () => {
    const access = { console: 'token', metricsToken } as const
    // The page is no secret: it asks for the token.
    expect(await statusesOf(access)).toEqual([200, 401, 401, 401, 401, 401])
    expect(await statusesOf(access, { authorization: 'Bearer x' })).toEqual([
      200, 401, 401, 401, 401, 401,
    ])
    expect(await statusesOf(access, bearer)).toEqual([200, 200, 200, 200, 404, 200])
  })

  it('is nobody where it is off, or where no token exists', async () => {
    expect(await statusesOf({ console: 'off', metricsToken }, bearer)).toEqual(paths.map(() => 404))
    expect(await statusesOf({ console: 'token' }, bearer)).toEqual(paths.map(() => 404))
  })
})
