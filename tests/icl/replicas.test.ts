import { describe, expect, it } from 'vitest'
import { defaultJobLimits } from '../../icl/rules/job.ts'
import { commitmentOf } from '../../lib/statements.ts'
import { codeOf } from '../code-of.ts'
import { startNode } from '../simulation/node.ts'
import { createWorld } from '../simulation/world.ts'
import { answerOf, claim, commitTo, offersOf } from './node-steps.ts'
import { at, useReplicas } from './replica-set.ts'
import { runJob } from './run-job.ts'
import { submit } from './test-client.ts'
import { beat, joinNode, type TestNode } from './test-icl.ts'

const { start, kill, pair } = useReplicas()

/** What a node posts that is too late. */
async function lateCommitment(node: TestNode, claimed: Awaited<ReturnType<typeof claim>>) {
  const { jobId, fence } = claimed
  return { jobId, fence, commitment: await commitmentOf(await answerOf(node, claimed, 'yes')) }
}

describe('a node that is killed after it has claimed', () => {
  it('is replaced by two replicas, and the job accepted, within the lease and 2 s', async () => {
    const world = createWorld(2, { minedMs: [50, 200], lostAnswers: 0 })
    const { clock, icl, dice } = world
    try {
      await world.addReplica()
      await world.addReplica()
      await clock.advance(6_000)
      const nodes: TestNode[] = []
      for (const name of ['n1', 'n2', 'n3', 'n4', 'n5']) {
        nodes.push(await clock.until(joinNode(icl, name)))
      }
      const job = await clock.until(submit(icl))
      const leader = nodes.find(({ address }) => address === job.leader)!
      const claimed = await clock.until(claim(leader))
      const claimedAt = clock.now()
      const late = await lateCommitment(leader, claimed)
      const habits = { slots: 2, thinkMs: [50, 100], dies: 0, answer: 'yes' } as const
      for (const node of nodes) {
        if (node !== leader) world.nodes.push(startNode({ icl, clock, dice }, node, habits))
      }
      const view = () =>
        clock.until(job.api.getJob({ params: { jobId: job.jobId } }, { readToken: job.readToken }))
      while ((await view()).status !== 'accepted') {
        const waited = clock.now() - claimedAt
        expect(waited).toBeLessThan(defaultJobLimits.leaseMs + 2_000)
        await clock.advance(waited < defaultJobLimits.leaseMs - 5_000 ? 1_000 : 50)
      }
      const { quorum, ...settled } = await view()
      expect(quorum[0]).toMatchObject({ node: leader.address, reason: 'lease-lapsed' })
      expect(await codeOf(clock.until(leader.api.commitAssignment({ body: late })))).toBe(
        'job-settled',
      )
      expect(await view()).toMatchObject({ ...settled, quorum })
      expect(await world.broken()).toEqual([])
    } finally {
      await clock.until(world.end())
    }
  })

  it('commits in vain while its replacement works: 409, and nothing changes', async () => {
    const { a, b, clock, nodes } = await pair()
    nodes.push(await joinNode(a, 'n4'))
    const job = await submit(a)
    const leader = nodes.find(({ address }) => address === job.leader)!
    const spare = nodes.find(({ address }) => ![job.leader, ...job.verifiers].includes(address))!
    const late = await lateCommitment(leader, await claim(leader))
    for (const address of job.verifiers) {
      const verifier = nodes.find((node) => node.address === address)!
      await commitTo(verifier, await claim(verifier), 'yes')
    }
    for (let waited = 0; waited < 121_000; waited += 30_250) {
      await beat(a, spare)
      await offersOf(spare)
      await clock.advance(30_250)
    }
    await claim(spare)
    // That it came at all is noted for the node's score, and is no part of the job's course.
    const course = async () => {
      const {
        assignments,
        outbox: _,
        nextEffect: __,
        ...rest
      } = (await a.deps.store.findJob(job.jobId))!.document
      return {
        ...rest,
        assignments: assignments.map(({ scores: ___, ...assignment }) => assignment),
      }
    }
    const before = await course()
    for (const replica of [a, b]) {
      const { api } = at(replica, leader)
      const error = await api.commitAssignment({ body: late }).catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'stale-fence', status: 409 })
    }
    expect(await course()).toEqual(before)
  })
})

it('jobs whose time has come are seen to soon, also those of a replica that was killed', async () => {
  const { a, b, clock, nodes, ...shared } = await pair()
  const others = [b]
  for (const id of ['c', 'd', 'e', 'f', 'g', 'h', 'i']) {
    others.push(await start({ clock, ...shared }, id))
  }
  await clock.advance(6_000)
  for (let index = 0; index < 4; index++) {
    const job = await submit(a, { client: `client ${index}`, commit: false })
    job.commit()
  }
  // Leaders are offered what they have room for, and let it lapse.
  await clock.advance(1_000)
  const offered = (
    await Promise.all(nodes.map((node) => a.deps.store.listJobsOfNode(node.address)))
  ).flat()
  expect(offered.length).toBeGreaterThan(1)
  await clock.advance(16_000)
  // All but one of nine: most of these jobs belong to replicas that still count as running when the jobs are due.
  for (const other of others) kill(other)
  await clock.advance(3_000 + 3_500)
  for (const { id } of offered) {
    const { document } = (await a.deps.store.findJob(id))!
    expect(document.assignments[0]).toMatchObject({ reason: 'offer-lapsed' })
  }
})

it('what is over is forgotten 30 days after it settled, by the replica that leads', async () => {
  const { a, b, clock, nodes } = await pair()
  const { job } = await runJob(a, nodes, ['yes', 'yes', 'yes'])
  const { settledAt } = (await a.deps.store.findJob(job.jobId))!.document
  const untilAge = async (ms: number) => {
    await clock.jump(settledAt! + ms - clock.now())
    // The leadership was lost on the way, is taken again, and then there is a look every minute.
    await clock.advance(80_000)
  }
  await clock.advance(5_000)
  await untilAge(30 * 86_400_000 - 3_600_000)
  expect(await b.deps.store.findJob(job.jobId)).toBeDefined()
  await untilAge(30 * 86_400_000 + 1)
  expect(await b.deps.store.findJob(job.jobId)).toBeUndefined()
  expect(await b.deps.store.listKeys('pool:', 0)).toEqual([])
})
