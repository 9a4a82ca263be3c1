import { describe, expect, it } from 'vitest'
import { createSteadyClock } from '../../icl/start/steady-clock.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import { claim, commitTo, deliver, reveal } from './node-steps.ts'
import { useReplicas } from './replica-set.ts'
import { checkAll, delivererOf } from './run-job.ts'
import { submit } from './test-client.ts'
import { createShared, joinNodes } from './test-icl.ts'

const minutes = 60_000
const { start } = useReplicas()

describe('service time', () => {
  it.each([5 * minutes, -5 * minutes, 5 * minutes + 2_000])(
    'follows a step of %i ms by a hundredth of the time that passes',
    async (step) => {
      const machine = createVirtualClock()
      const clock = createSteadyClock(machine)
      const before = clock.now()
      machine.leap(step)
      expect([clock.now(), clock.aheadMs()]).toEqual([before, step])
      await machine.advance(100_000)
      expect(clock.now() - before).toBe(100_000 + Math.sign(step) * 1_000)
      await machine.advance(100 * Math.abs(step))
      expect([clock.now(), clock.aheadMs()]).toEqual([machine.now(), 0])
    },
  )

  it.each([10 * minutes + 1, -120 * minutes])('takes a step of %i ms over at once', (step) => {
    const machine = createVirtualClock()
    const clock = createSteadyClock(machine)
    machine.leap(step)
    expect(clock.now()).toBe(machine.now())
  })

  it('never goes back while the clock is set to and fro by less', async () => {
    const machine = createVirtualClock()
    const clock = createSteadyClock(machine)
    let last = clock.now()
    for (const step of [-200_000, 250_000, -100_000, 3_000, -3_000]) {
      machine.leap(step)
      await machine.advance(500)
      expect(clock.now()).toBeGreaterThan(last)
      last = clock.now()
    }
  })
})

it.each([
  ['ahead', 5 * minutes],
  ['back', -5 * minutes],
])(
  'a clock that is set 5 minutes %s costs no job and no point, and no node its place',
  async (_, leap) => {
    const shared = createShared()
    const icl = await start(shared, 'a', { clock: createSteadyClock(shared.clock) })
    const nodes = await joinNodes(icl, 3)
    const nodeAt = (address: string) => nodes.find((node) => node.address === address)!
    const job = await submit(icl)
    const leader = nodeAt(job.leader)
    const claimed = await claim(leader)
    shared.clock.leap(leap)
    await shared.clock.advance(15_000)
    expect((await icl.api().getActiveNodes({ query: { min_tier: 0 } })).nodes).toHaveLength(3)
    for (const node of job.verifiers.map(nodeAt)) await commitTo(node, await claim(node), 'x')
    await shared.clock.advance(95_000)
    await commitTo(leader, claimed, 'x')
    for (const node of nodes) await reveal(node, job.jobId)
    await deliver(icl, (await delivererOf(nodes, job.jobId))!, job.jobId)
    await checkAll(nodes, job.jobId)
    await shared.clock.advance(5_000)
    expect((await shared.store.findJob(claimed.jobId))?.document.phase).toBe('accepted')
    const events = await Promise.all(
      nodes.map(({ address }) => shared.store.listReputationEvents(address, { limit: 1_000 })),
    )
    expect(
      events
        .flat()
        .map(({ code }) => code)
        .toSorted(),
    ).toEqual(['answer-agreed', 'answer-agreed', 'answer-delivered'])
  },
)
