import { afterEach, expect, it } from 'vitest'
import { claim, commitTo, createTestIcl, joinNode, resultBody, submit } from './test-icl.ts'

let icl: Awaited<ReturnType<typeof createTestIcl>>
afterEach(() => icl.stop())

/** A client cancels its job when this many verdicts are there, or before; `afterMs` later. */
type Moment = {
  readonly answers: readonly [string, string, string]
  readonly until: 'claims' | 'commitments' | 'result' | 1 | 2
  readonly afterMs?: number
}

const moments: readonly Moment[] = [
  { answers: ['yes', 'yes', 'yes'], until: 'claims' },
  { answers: ['yes', 'yes', 'yes'], until: 'commitments' },
  { answers: ['yes', 'yes', 'yes'], until: 'result' },
  { answers: ['yes', 'yes', 'no'], until: 1 },
  { answers: ['yes', 'no', 'no'], until: 1 },
  { answers: ['yes', 'yes', 'no'], until: 2, afterMs: 2_000 },
  { answers: ['yes', 'no', 'no'], until: 2 },
  { answers: ['yes', 'no', 'no'], until: 2, afterMs: 2_000 },
]

it('sixteen jobs cancelled at chosen moments leave the weight of every node as it was', async () => {
  icl = await createTestIcl()
  const nodes: Awaited<ReturnType<typeof joinNode>>[] = []
  for (let index = 1; index <= 6; index++) nodes.push(await joinNode(icl, `n${index}`))
  const nodeAt = (address: string) => nodes.find((node) => node.address === address)!
  const standings = async () => {
    const listed = await icl.api().getConsoleNodes({ query: {} })
    return listed.nodes.map(({ address, weight, score }) => ({ address, weight, score }))
  }
  const cancelAt = async ({ answers, until, afterMs = 0 }: Moment) => {
    const job = await submit(icl)
    const leader = nodeAt(job.leader)
    const leaderClaim = await claim(leader)
    const reveals: Awaited<ReturnType<typeof commitTo>>[] = []
    for (const [index, address] of job.verifiers.entries()) {
      const claimed = await claim(nodeAt(address))
      if (until === 'claims') continue
      reveals.push(await commitTo(nodeAt(address), claimed, answers[index + 1]!))
    }
    if (until !== 'claims' && until !== 'commitments') {
      await leader.api.postResult({ body: await resultBody(icl, leader, leaderClaim, answers[0]) })
    }
    const verdicts = typeof until === 'number' ? until : 0
    for (const [index, reveal] of reveals.slice(0, verdicts).entries()) {
      await nodeAt(job.verifiers[index]!).api.postVerdict({ body: await reveal() })
    }
    await icl.clock.advance(afterMs)
    const path = { params: { jobId: job.jobId } }
    const { status } = await job.api.cancelJob(path, { readToken: job.readToken })
    expect(status).toBe('cancelled')
    await icl.clock.advance(1_000)
  }
  const before = await standings()
  expect(before).toHaveLength(6)
  for (const moment of [...moments, ...moments]) await cancelAt(moment)
  await icl.clock.advance(120_000)
  expect(await standings()).toEqual(before)
  for (const { address } of nodes) {
    const { events } = await icl.api().getNodeEvents({ params: { address }, query: {} })
    expect(events).toEqual([])
  }
})
