import { afterEach, describe, expect, it } from 'vitest'
import { check, claim, commitTo, deliver, ownAssignment, reveal } from './node-steps.ts'
import { answerJob, delivererOf } from './run-job.ts'
import { submit } from './test-client.ts'
import { createTestIcl, joinNodes, type TestIcl, type TestNode } from './test-icl.ts'

let icl: TestIcl
afterEach(() => icl.stop())

async function join(count: number): Promise<TestNode[]> {
  icl = await createTestIcl()
  const nodes = await joinNodes(icl, count)
  return nodes
}

type Submitted = Pick<Awaited<ReturnType<typeof submit>>, 'api' | 'jobId' | 'readToken'>

/** Cancels a job; the client is shown that it is at once, whatever its nodes have still to do. */
async function cancel({ api, jobId, readToken }: Submitted) {
  const path = { params: { jobId } }
  expect((await api.cancelJob(path, { readToken })).status).toBe('cancelled')
  expect(await api.getJob(path, { readToken })).toMatchObject({
    status: 'cancelled',
    reason: 'cancelled-by-client',
  })
}

const phaseOf = async ({ jobId }: Submitted) =>
  (await icl.deps.store.findJob(jobId))!.document.phase

/** What the nodes were scored for, by node. */
const codesOf = async (nodes: readonly TestNode[]) => {
  await icl.clock.advance(1_500)
  const pages = nodes.map(({ address }) =>
    icl.api().getNodeEvents({ params: { address }, query: {} }),
  )
  return (await Promise.all(pages)).map(({ events }) => events.map(({ body }) => body.code))
}

/** A job whose first `commits` nodes have committed, all of those that have claimed. */
async function committed(nodes: readonly TestNode[], answers: readonly string[], commits: number) {
  const job = await submit(icl)
  const seated = job.first.map((address) => nodes.find((node) => node.address === address)!)
  for (const [index, node] of seated.entries()) {
    const claimed = await claim(node, job.jobId)
    if (index < commits) await commitTo(node, claimed, answers[index]!)
  }
  return { job, jobId: job.jobId, seated }
}

describe('a job that its client cancels', () => {
  it('before all have committed is over, and leaves the standing of every node as it was', async () => {
    const nodes = await join(6)
    const standings = async () =>
      (await icl.api().getConsoleNodes({ query: {} })).nodes.map(({ address, weight, score }) => ({
        address,
        weight,
        score,
      }))
    const before = await standings()
    for (let round = 0; round < 4; round++) {
      for (const commits of [0, 1, 2]) {
        const { job, seated, jobId } = await committed(nodes, ['yes', 'no', 'yes'], commits)
        await cancel(job)
        expect(await phaseOf(job)).toBe('cancelled')
        for (const node of seated) expect((await ownAssignment(node, jobId)).step).toBe('over')
      }
    }
    await icl.clock.advance(120_000)
    expect(await standings()).toEqual(before)
    expect(await codesOf(nodes)).toEqual(nodes.map(() => []))
  })

  for (const reveals of [0, 1, 2]) {
    it(`once ${reveals} of its answers may be known still hears the others, and scores as if it went on`, async () => {
      const nodes = await join(3)
      const answers = ['yes', 'no', 'yes']
      const { job, jobId, seated } = await committed(nodes, answers, 3)
      for (const node of seated.slice(0, reveals)) await reveal(node, jobId)
      await cancel(job)
      expect(await phaseOf(job)).toBe('running')
      for (const node of seated.slice(reveals)) {
        expect((await ownAssignment(node, jobId)).step).toBe('reveal')
        await reveal(node, jobId)
      }
      expect(await phaseOf(job)).toBe('cancelled')
      expect(await codesOf(seated)).toEqual([
        ['answer-agreed'],
        ['answer-differed'],
        ['answer-agreed'],
      ])
    })
  }

  it('while its nodes deliver and check is over, and scores its answers', async () => {
    const nodes = await join(3)
    for (const hasDelivered of [false, true]) {
      const { job, jobId, seated } = await answerJob(icl, nodes, ['yes', 'yes', 'yes'])
      const deliverer = (await delivererOf(seated, jobId))!
      if (hasDelivered) {
        await deliver(icl, deliverer, jobId)
        await check(seated.find((node) => node !== deliverer)!, jobId)
      }
      await cancel(job)
      expect(await phaseOf(job)).toBe('cancelled')
      const view = await job.api.getJob({ params: { jobId } }, { readToken: job.readToken })
      expect([view.output_cid, view.agreement?.deliverer]).toEqual([undefined, undefined])
    }
    expect(await codesOf(nodes)).toEqual(Array(3).fill(['answer-agreed', 'answer-agreed']))
  })
})
