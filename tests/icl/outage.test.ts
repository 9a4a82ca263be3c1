import { describe, expect, it } from 'vitest'
import { claim, commitTo, deliver, offersOf, ownAssignment, reveal } from './node-steps.ts'
import { at, useReplicas } from './replica-set.ts'
import { checkAll, delivererOf } from './run-job.ts'
import { submit } from './test-client.ts'
import {
  beat,
  createShared,
  joinNodes,
  type Shared,
  type TestIcl,
  type TestNode,
} from './test-icl.ts'

const { start, kill } = useReplicas()

let shared: Shared

/** An ICL with four nodes in its pool, which is killed and started again `awayMs` later. */
async function begin() {
  shared = createShared()
  const icl = await start(shared, 'a')
  const nodes = await joinNodes(icl, 4)
  return { icl, nodes }
}

async function restart(icl: TestIcl, awayMs: number): Promise<TestIcl> {
  kill(icl)
  await shared.clock.advance(awayMs)
  return start(shared, 'a2')
}

const scoresOf = async (nodes: readonly TestNode[]) => {
  const events = await Promise.all(
    nodes.map(({ address }) => shared.store.listReputationEvents(address, { limit: 1_000 })),
  )
  return events.flat().map(({ code }) => code)
}

const rolesOf = (nodes: readonly TestNode[], job: Awaited<ReturnType<typeof submit>>) => {
  const byAddress = (address: string) => nodes.find((node) => node.address === address)!
  return {
    leader: byAddress(job.leader),
    verifiers: job.verifiers.map(byAddress),
  }
}

describe.each([90_000, 280_000])('an ICL that was away for %i ms', (awayMs) => {
  it('has its pool at once; a node that went away is out of it after the usual time', async () => {
    const { icl, nodes } = await begin()
    await shared.clock.advance(10_000)
    const again = await restart(icl, awayMs)
    expect((await again.api().getActiveNodes({ query: { min_tier: 0 } })).nodes).toHaveLength(4)
    const job = await submit(again)
    expect(job.verifiers).toHaveLength(2)
    for (const node of nodes.slice(1)) await offersOf(at(again, node))
    await shared.clock.advance(50_000)
    expect((await again.api().getActiveNodes({ query: { min_tier: 0 } })).nodes).toHaveLength(3)
  })

  it('has the offers and leases that it had, and loses neither the job nor a point', async () => {
    const { icl, nodes } = await begin()
    const job = await submit(icl)
    const { leader, verifiers } = rolesOf(nodes, job)
    const claimed = await claim(leader)
    await shared.clock.advance(15_000)
    const again = await restart(icl, awayMs)
    await shared.clock.advance(5_000)
    // Those who had an offer find it still there, and the leader may take its time.
    const others = verifiers.map((node) => at(again, node))
    for (const node of others) await commitTo(node, await claim(node), 'x')
    await shared.clock.advance(90_000)
    const leading = at(again, leader)
    const { deadline, server_time } = await ownAssignment(leading, claimed.jobId)
    expect((deadline ?? 0) - server_time).toBeGreaterThan(5)
    await commitTo(leading, claimed, 'x')
    const seated = [leading, ...others]
    for (const node of seated) await reveal(node, claimed.jobId)
    await deliver(shared, (await delivererOf(seated, claimed.jobId))!, claimed.jobId)
    await checkAll(seated, claimed.jobId)
    await shared.clock.advance(5_000)
    const settled = (await shared.store.findJob(claimed.jobId))?.document
    expect(settled?.phase).toBe('accepted')
    const codes = await scoresOf(nodes)
    expect(codes.toSorted()).toEqual(['answer-agreed', 'answer-agreed', 'answer-delivered'])
  })

  it('costs nobody its turn: the time to reveal, to deliver and to check goes on afterwards', async () => {
    const { icl, nodes } = await begin()
    const job = await submit(icl)
    const { jobId } = job
    const { leader, verifiers } = rolesOf(nodes, job)
    let seated = [leader, ...verifiers]
    let running = icl
    const away = async () => {
      await shared.clock.advance(20_000)
      // All outages add ten minutes to a job's life at most, and here are three.
      running = await restart(running, Math.min(awayMs, 195_000))
      seated = seated.map((node) => at(running, node))
      await shared.clock.advance(5_000)
    }
    for (const node of seated) await commitTo(node, await claim(node), 'x')
    await away()
    for (const node of seated) await reveal(node, jobId)
    const turn = async () => (await delivererOf(seated, jobId))?.address
    const deliverer = await turn()
    await away()
    expect(await turn()).toBe(deliverer)
    const byTurn = seated.find(({ address }) => address === deliverer)!
    const own = await ownAssignment(byTurn, jobId)
    expect(own.deadline! - own.server_time).toBeGreaterThan(9)
    await deliver(shared, byTurn, jobId)
    await away()
    await checkAll(seated, jobId)
    await shared.clock.advance(5_000)
    expect((await shared.store.findJob(jobId))?.document.phase).toBe('accepted')
    const codes = await scoresOf(nodes)
    expect(codes.toSorted()).toEqual(['answer-agreed', 'answer-agreed', 'answer-delivered'])
  })
})

describe('an outage', () => {
  it('that is broken off by further kills counts as a whole', async () => {
    const { icl, nodes } = await begin()
    const job = await submit(icl)
    await claim(rolesOf(nodes, job).leader)
    let again = icl
    for (let kills = 0; kills < 4; kills++) {
      again = await restart(again, 40_000)
      await shared.clock.advance(1_500)
    }
    const view = await again
      .api()
      .getJob({ params: { jobId: job.jobId } }, { readToken: job.readToken })
    expect(view.quorum.map(({ status }) => status).toSorted()).toEqual([
      'claimed',
      'offered',
      'offered',
    ])
    expect(view.deadline - view.created_at).toBeGreaterThanOrEqual(600 + 4 * 40)
    expect(await scoresOf(nodes)).toEqual([])
  })

  it('is none while another replica is there', async () => {
    const { icl, nodes } = await begin()
    const other = await start(shared, 'b')
    const job = await submit(icl)
    kill(icl)
    await shared.clock.advance(30_000)
    for (const node of nodes) await beat(other, at(other, node))
    const again = await start(shared, 'a2')
    await shared.clock.advance(1_000)
    expect(await again.deps.outages.all()).toEqual([])
    const view = await again
      .api()
      .getJob({ params: { jobId: job.jobId } }, { readToken: job.readToken })
    expect(view.deadline - view.created_at).toBeLessThanOrEqual(600)
  })

  it('is also the time in which all replicas were frozen, before anything is done about it', async () => {
    const { icl, nodes } = await begin()
    const job = await submit(icl)
    // Whatever became due meanwhile fires at once.
    await shared.clock.jump(100_000)
    await shared.clock.advance(5_000)
    const view = await icl
      .api()
      .getJob({ params: { jobId: job.jobId } }, { readToken: job.readToken })
    expect(view.quorum.map(({ status }) => status)).toEqual(['offered', 'offered', 'offered'])
    expect(await scoresOf(nodes)).toEqual([])
    expect(icl.logged.join('\n')).toContain('The ICL was away: deadlines are moved {"seconds":100}')
  })
})
