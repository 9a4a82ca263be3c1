import { describe, expect, it } from 'vitest'
import { placesOf } from '../../icl/operations/admit-client.ts'
import { listJobs } from '../../icl/operations/list-jobs.ts'
import { openAccess } from '../../icl/rules/access.ts'
import { defaultJobLimits } from '../../icl/rules/job.ts'
import type { JobId } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { dayMs } from '../../lib/time.ts'
import { aJobId } from '../branded.ts'
import { codeOf } from '../code-of.ts'
import { icl, startIcl } from './fresh-icl.ts'
import { sampleJob } from './rules/sample-job.ts'
import { storedKey, submit } from './test-client.ts'
import { createTestIcl, joinNode, walletOf } from './test-icl.ts'

const names = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6']
const start = async (changes: Parameters<typeof createTestIcl>[0] = {}) => {
  await startIcl(changes)
  for (const name of names) await joinNode(icl, name)
}

describe('an allow-list of clients', () => {
  it('lets only those submit and upload that are on it', async () => {
    const clients = new Set([walletOf('known').address])
    await start({ access: { ...openAccess, clients } })
    await submit(icl, { client: 'known' })
    expect(await codeOf(submit(icl, { client: 'stranger' }))).toBe('client-not-allowed')
    const body = new Uint8Array(32).fill(1)
    const stranger = icl.api(walletOf('stranger').signer)
    const query = storedKey(icl, 'stranger')
    expect(await codeOf(stranger.putBlob({ query, body }))).toBe('client-not-allowed')
    const known = { query: storedKey(icl, 'known'), body }
    expect(await codeOf(icl.api(walletOf('known').signer).putBlob(known))).toBeUndefined()
  })

  it('does not take from a client the jobs that it has', async () => {
    await start()
    const job = await submit(icl)
    const { fetch } = await createTestIcl({
      ...icl.deps,
      access: { ...openAccess, clients: new Set() },
    })
    const answer = await fetch(
      new Request(`https://icl.test/v1/inference/${job.jobId}`, {
        headers: { authorization: `Bearer ${job.readToken}` },
      }),
    )
    expect(answer.status).toBe(200)
  })
})

describe('the quota of a day', () => {
  it('refuses what is beyond it until midnight UTC, and says when that is', async () => {
    await start({ access: { ...openAccess, jobsPerDay: 2 } })
    const jobs = [await submit(icl), await submit(icl)]
    expect(await codeOf(submit(icl))).toBe('quota-exceeded')
    const refusal = (await submit(icl).catch((error: unknown) => error)) as ProblemError
    expect(refusal).toBeInstanceOf(ProblemError)
    const untilMidnightMs = dayMs - (icl.clock.now() % dayMs)
    expect(refusal.retryAfterSeconds).toBe(Math.ceil(untilMidnightMs / 1000))
    await submit(icl, { client: 'another' })
    for (const { api, jobId, readToken } of jobs) {
      await api.cancelJob({ params: { jobId } }, { readToken })
    }
    expect(await codeOf(submit(icl))).toBe('quota-exceeded')
    await icl.clock.jump(dayMs - (icl.clock.now() % dayMs))
    for (const name of names) await joinNode(icl, name)
    expect(await codeOf(submit(icl))).toBeUndefined()
  })

  it('does not count the same submission twice', async () => {
    await start({ access: { ...openAccess, jobsPerDay: 2 } })
    const first = await submit(icl)
    for (let count = 0; count < 3; count++) {
      const again = await first.api.submitJob({ body: first.body })
      expect(again.jobId).toBe(first.jobId)
    }
    await submit(icl)
    expect(await codeOf(submit(icl))).toBe('quota-exceeded')
  })
})

describe('the places of a client', () => {
  const idOf = (index: number): JobId => aJobId(`0x${index.toString(16).padStart(64, '0')}`)
  const { address } = walletOf('client')
  /** Takes places as a submission does, without a job. */
  const take = async (index: number, deadline: number): Promise<void> => {
    const { deps } = icl
    while (await deps.store.saveAll(await placesOf(deps, address, idOf(index), deadline))) {
      // Another was faster.
    }
  }

  it('are never more than there are, however many submissions come at once', async () => {
    await startIcl({
      access: { ...openAccess, jobsPerDay: 5 },
      limits: { ...defaultJobLimits, maxJobsPerClient: 3 },
    })
    const deadline = icl.clock.now() + 600_000
    const codes = await Promise.all(
      Array.from({ length: 40 }, (_, index) => codeOf(take(index, deadline))),
    )
    expect(codes.filter((code) => code === undefined)).toHaveLength(3)
    expect(codes.filter((code) => code === 'too-many-jobs')).toHaveLength(37)
  })

  it('become free when their job has settled, or was never saved until its deadline', async () => {
    await startIcl({
      access: { ...openAccess, jobsPerDay: 3 },
      limits: { ...defaultJobLimits, maxJobsPerClient: 1 },
    })
    const takeNow = (index: number) => codeOf(take(index, icl.clock.now() + 600_000))
    expect([await takeNow(1), await takeNow(1), await takeNow(2)]).toEqual([
      undefined,
      undefined,
      'too-many-jobs',
    ])
    const settled = { ...sampleJob(), id: idOf(1), client: address, phase: 'cancelled' as const }
    await icl.deps.store.save({ kind: 'job', job: settled, base: 0 })
    expect([await takeNow(2), await takeNow(3)]).toEqual([undefined, 'too-many-jobs'])
    await icl.clock.jump(660_000)
    expect(await takeNow(3)).toBeUndefined()
    await icl.clock.jump(660_000)
    // The quota refuses now, and leaves the place to others.
    expect([await takeNow(4), await takeNow(3)]).toEqual(['quota-exceeded', undefined])
  })
})

it('a submission that fails takes no place', async () => {
  await start({
    access: { ...openAccess, jobsPerDay: 2 },
    limits: { ...defaultJobLimits, maxJobsPerClient: 2 },
  })
  const first = await submit(icl)
  const body = { ...first.body, client_nonce: 4_242n }
  expect(await codeOf(first.api.submitJob({ body }))).toBe('key-used')
  expect(await codeOf(submit(icl))).toBeUndefined()
})

describe('the list of own jobs', () => {
  it('has every job once, newest first, a page at a time', async () => {
    await startIcl()
    const { address } = walletOf('client')
    const promptCid = `bafkrei${'a'.repeat(52)}`
    const now = icl.clock.now()
    for (let index = 0; index < 120; index++) {
      const id: JobId = aJobId(`0x${index.toString(16).padStart(64, '0')}`)
      // Three of a kind have the same time: their ids tell them apart.
      const createdAt = now - Math.floor(index / 3) * 1_000
      const phase = index % 2 === 0 ? ('cancelled' as const) : ('expired' as const)
      const job = {
        ...sampleJob({ promptCid }),
        id,
        client: address,
        createdAt,
        phase,
        tickAt: undefined,
      }
      await icl.deps.store.save({ kind: 'job', job, base: 0 })
    }
    const api = icl.api(walletOf('client').signer)
    const walk = async (status?: 'cancelled') => {
      const seen: { jobId: string; created_at: number; status: string }[] = []
      let cursor: string | undefined
      const pages: number[] = []
      do {
        const page = await api.listJobs({
          query: { ...(status && { status }), ...(cursor && { cursor }) },
        })
        seen.push(...page.jobs)
        pages.push(page.jobs.length)
        cursor = page.next_cursor ?? undefined
      } while (cursor !== undefined)
      return { seen, pages }
    }
    const all = await walk()
    expect(all.pages).toEqual([50, 50, 20])
    expect(new Set(all.seen.map(({ jobId }) => jobId)).size).toBe(120)
    const times = all.seen.map(({ created_at }) => created_at)
    expect(times).toEqual(times.toSorted((a, b) => b - a))
    const cancelled = await walk('cancelled')
    expect(cancelled.pages).toEqual([50, 10])
    expect(new Set(cancelled.seen.map(({ status }) => status))).toEqual(new Set(['cancelled']))
    const others = await icl.api(walletOf('other').signer).listJobs({ query: {} })
    expect(others).toEqual({ jobs: [], next_cursor: null })
  })

  it('gives tokens that read the jobs', async () => {
    await start()
    const job = await submit(icl)
    const { jobs } = await listJobs(icl.deps, job.client.address, {})
    expect(jobs).toHaveLength(1)
    const view = await icl
      .api()
      .getJob({ params: { jobId: jobs[0]!.jobId } }, { readToken: jobs[0]!.read_token })
    expect(view).toMatchObject({ jobId: job.jobId, status: jobs[0]!.status })
  })
})
