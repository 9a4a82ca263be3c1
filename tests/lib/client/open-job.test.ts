import { describe, expect, it } from 'vitest'
import type { ClientContext } from '../../../lib/client/context.ts'
import { infer } from '../../../lib/client/infer.ts'
import { openJob } from '../../../lib/client/open-job.ts'
import type { JobId } from '../../../lib/codecs.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { aJobId } from '../../branded.ts'
import { createFakeWorld, type FakeOptions } from './fake-world.ts'
import { passing, worldWhere } from './late-world.ts'

const model = 'openai:gpt-4o-mini'

/** Asks, and leaves as soon as the job is submitted; the job goes on. */
async function askAndLeave(context: ClientContext): Promise<JobId> {
  const left = new AbortController()
  const cancelJob = () => Promise.reject(new ProblemError('job-settled', 'Too late'))
  let jobId: JobId | undefined
  const work = infer({ ...context, api: { ...context.api, cancelJob } }, 'Why?', {
    model,
    signal: left.signal,
    onSubmitted: (job) => {
      jobId = job.jobId
      left.abort(new Error('left'))
    },
  })
  await work.catch(() => {})
  if (jobId === undefined) throw new Error('It was not submitted')
  return jobId
}

async function leftWorld(options: FakeOptions = {}) {
  const { context } = await createFakeWorld(options)
  return { context, jobId: await askAndLeave(context) }
}

describe('the answer of a job whose program has ended', () => {
  it('is opened by the wallet alone, and checked as it would have been', async () => {
    const { context, jobId } = await leftWorld()
    const opened = await openJob(context, jobId)
    expect(opened).toMatchObject({ status: 'accepted', output: 'answer to Why?', jobId, model })
    const { timingsMs: _, proof: __, ...asked } = await infer(context, 'Why?', { model })
    const again = await openJob(context, asked.jobId)
    expect(again).toMatchObject(asked)
  })

  it('is waited for while its job runs', async () => {
    const { context, jobId } = await leftWorld({
      views: () => [{ status: 'open' }, { status: 'open' }, {}],
    })
    expect(await openJob(context, jobId)).toMatchObject({ output: 'answer to Why?' })
  })

  it('is waited for while the ICL is away', async () => {
    const { context } = await worldWhere('receipt', (elapsedMs) =>
      elapsedMs < 240_000 ? passing('icl-unreachable') : undefined,
    )
    const jobId = await askAndLeave(context)
    expect(await openJob(context, jobId)).toMatchObject({ output: 'answer to Why?' })
  })

  it('is told as not there where the job has none', async () => {
    const { context, jobId } = await leftWorld({ views: () => [{ status: 'disputed' }] })
    expect(await openJob(context, jobId)).toMatchObject({ status: 'disputed', jobId })
  })

  it('is that of the job that was asked for', async () => {
    const { context } = await leftWorld()
    const other = aJobId(`0x${'12'.repeat(32)}`)
    await expect(openJob(context, other)).rejects.toMatchObject({ code: 'job-not-found' })
    const { listJobs } = context.api
    const named: typeof listJobs = async (...args) => {
      const page = await listJobs(...args)
      return { ...page, jobs: page.jobs.map((job) => ({ ...job, jobId: other })) }
    }
    const lying = { ...context, api: { ...context.api, listJobs: named } }
    await expect(openJob(lying, other)).rejects.toMatchObject({ code: 'receipt-invalid' })
    const endless: typeof listJobs = async () => ({ jobs: [], next_cursor: 'more' })
    const idle = { ...context, api: { ...context.api, listJobs: endless } }
    await expect(openJob(idle, other)).rejects.toMatchObject({ code: 'job-not-found' })
  })

  it('is refused where the chain has other terms, another list or no such key', async () => {
    const { context, jobId } = await leftWorld()
    const { chain } = context
    const stored: typeof chain.storedKeyAt = async (...args) => {
      const key = await chain.storedKeyAt(...args)
      return key && { ...key, termsHash: jobId as never }
    }
    const list: typeof chain.listOf = async (...args) => {
      const found = await chain.listOf(...args)
      return found && { ...found, commitment: jobId as never }
    }
    for (const change of [
      { storedKeyAt: stored },
      { listOf: list },
      { storedKeyAt: async () => undefined },
      { firstReaders: async () => undefined },
    ]) {
      const work = openJob({ ...context, chain: { ...chain, ...change } }, jobId)
      await expect(work).rejects.toMatchObject({ code: 'receipt-differs' })
    }
  })

  it('is called read by a node that the ICL let in, and that had no seat', async () => {
    const { context, jobId } = await leftWorld()
    const { chain } = context
    const wider: typeof chain.listOf = async (...args) => {
      const found = await chain.listOf(...args)
      return found && { ...found, used: found.used | 0b1000 }
    }
    const letIn = { ...context, chain: { ...chain, listOf: wider } }
    await expect(openJob(letIn, jobId)).rejects.toMatchObject({ code: 'reader-unknown' })
    // One that this client itself let in at first is none of the ICL's doing.
    const first = { ...letIn, chain: { ...letIn.chain, firstReaders: async () => 0b1111 } }
    expect(await openJob(first, jobId)).toMatchObject({ status: 'accepted' })
  })

  it('is refused where it is not what the quorum agreed on', async () => {
    const { context, jobId } = await leftWorld({ delivered: 'something else' })
    await expect(openJob(context, jobId)).rejects.toMatchObject({ code: 'output-mismatch' })
  })
})
