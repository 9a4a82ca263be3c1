import { describe, expect, it } from 'vitest'
import { codeOf } from '../code-of.ts'
import { freshIcl, icl, nodes } from './fresh-icl.ts'
import { claim, commitTo, deliver, ownAssignment } from './node-steps.ts'
import { answerJob, checkAll, delivererOf, expire } from './run-job.ts'
import { submit } from './test-client.ts'

freshIcl(3)

type Submitted = Pick<Awaited<ReturnType<typeof submit>>, 'api' | 'jobId' | 'readToken'>

const cancel = ({ api, jobId, readToken }: Submitted) =>
  api.cancelJob({ params: { jobId } }, { readToken })
const recordOf = ({ api, jobId, readToken }: Submitted) =>
  api.getRecord({ params: { jobId } }, { readToken })

async function claimedJob() {
  const job = await submit(icl)
  const seated = job.first.map((address) => nodes.find((node) => node.address === address)!)
  return { job, seated, claims: await Promise.all(seated.map((node) => claim(node, job.jobId))) }
}

describe('a job that its client cancels', () => {
  it('before a node has committed is over, and leaves the standing of every node as it was', async () => {
    const standings = async () =>
      (await icl.api().getConsoleNodes({ query: {} })).nodes.map(({ address, weight, score }) => ({
        address,
        weight,
        score,
      }))
    const before = await standings()
    for (let round = 0; round < 4; round++) {
      const { job, seated } = await claimedJob()
      const cancelled = { status: 'cancelled', reason: 'cancelled-by-client' }
      expect(await cancel(job)).toMatchObject(cancelled)
      for (const node of seated) expect((await ownAssignment(node, job.jobId)).step).toBe('over')
    }
    await icl.clock.advance(120_000)
    expect(await standings()).toEqual(before)
    for (const { address } of nodes) {
      const { events } = await icl.api().getNodeEvents({ params: { address }, query: {} })
      expect(events).toEqual([])
    }
  })

  it('after the first commitment continues to its end, whenever the client asks', async () => {
    const early = await claimedJob()
    await commitTo(early.seated[0]!, early.claims[0]!, 'yes')
    expect(await codeOf(cancel(early.job))).toBe('too-late-to-cancel')

    const { job, jobId, seated, view } = await answerJob(icl, nodes, ['yes', 'yes', 'yes'])
    expect(await codeOf(cancel(job))).toBe('too-late-to-cancel')
    await deliver(icl, (await delivererOf(seated, jobId))!, jobId)
    expect(await codeOf(cancel(job))).toBe('too-late-to-cancel')
    await checkAll(seated, jobId)
    expect((await view()).status).toBe('accepted')
  })
})

it('a client reads no delivery in the record of a job that was not accepted', async () => {
  for (const isAccepted of [true, false]) {
    const { job, jobId, seated, view } = await answerJob(icl, nodes, ['yes', 'yes', 'yes'])
    await deliver(icl, (await delivererOf(seated, jobId))!, jobId)
    const { agreement } = (await icl.deps.store.findJob(jobId))!.document
    const { output_cid, outHighHandle, outLowHandle } = agreement!.turns[0]!.delivery!.body
    await (isAccepted ? checkAll(seated, jobId) : expire(icl))
    expect((await view()).status).toBe(isAccepted ? 'accepted' : 'expired')
    const read = JSON.stringify([await view(), await recordOf(job)], (_, value) =>
      typeof value === 'bigint' ? `${value}` : value,
    )
    for (const secret of [output_cid, `${outHighHandle}`, `${outLowHandle}`])
      expect(read.includes(secret)).toBe(isAccepted)
  }
})
