import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RunningDaemon, startDaemons } from './real-daemon.ts'
import { type RealIcl, startRealIcl } from './real-icl.ts'

// Spec 3.2 and 3.3, row by row: real daemons, the real ICL.

let icl: RealIcl
let daemons: RunningDaemon[] = []
beforeEach(async () => {
  icl = await startRealIcl()
  daemons = await startDaemons(icl, ['a', 'b', 'c', 'd'])
})
afterEach(async () => {
  for (const daemon of daemons) await daemon.stop()
  await icl.stop()
})

const of = (address: string): RunningDaemon => daemons.find((one) => one.address === address)!
const has = ({ lines }: RunningDaemon, fragment: string) =>
  lines.some((line) => line.includes(fragment))
const answerAfter = (ms: number) => async () => {
  await icl.clock.sleep(ms)
  return Response.json({ choices: [{ index: 0, message: { content: 'Four.' } }] })
}
const heartbeats = ({ lines }: RunningDaemon) =>
  lines.filter((line) => line.includes('Heartbeat sent')).length
const activeNodes = async () => {
  const { nodes } = await icl.clock.until(icl.client.getActiveNodes({ query: { min_tier: 0 } }))
  return nodes.map(({ operator_address }) => operator_address)
}

describe('running | SIGINT or SIGTERM -> stopping: stops taking new assignments', () => {
  it('and finishes what runs: the job is accepted, then the final heartbeat, then the end', async () => {
    const job = await icl.ask('Two and two?', (leader) => {
      of(leader).faults.provider = answerAfter(30_000)
    })
    const leader = of(job.leader)
    await icl.clock.advance(5_000)
    leader.askToStop()
    await icl.clock.advance(2_000)
    expect(has(leader, 'Daemon stopping: no new assignments, waiting for 1 running job(s)')).toBe(
      true,
    )
    const spawned = leader.lines.filter((line) => line.includes('Spawning')).length
    // Work that comes now goes to others.
    const second = await icl.ask('Three and three?')
    await icl.clock.advance(10_000)
    expect((await icl.clock.until(second.view())).status).toBe('accepted')
    expect(leader.lines.filter((line) => line.includes('Spawning')).length).toBe(spawned)
    expect(has(leader, 'Daemon stopped')).toBe(false)

    const before = heartbeats(leader)
    await icl.clock.until(leader.running)
    // Which of the nodes that agree delivers is drawn.
    expect(has(leader, 'Leader result accepted') || has(leader, 'Verdict: match')).toBe(true)
    expect(heartbeats(leader)).toBe(before + 1)
    expect(leader.lines.at(-1)).toMatch(/Daemon stopped$/)
    await icl.clock.advance(5_000)
    expect((await icl.clock.until(job.view())).status).toBe('accepted')
    expect(await activeNodes()).not.toContain(leader.address)
  })
})

describe('stopping | running jobs time out -> stopped', () => {
  it('gives the job back, which another node does; a final heartbeat is sent', async () => {
    const job = await icl.ask('Two and two?', (leader) => {
      of(leader).faults.provider = answerAfter(110_000)
    })
    const leader = of(job.leader)
    await icl.clock.advance(5_000)
    leader.askToStop()
    const stoppedAt = icl.clock.now()
    const before = heartbeats(leader)
    await icl.clock.until(leader.running)
    expect(icl.clock.now() - stoppedAt).toBeGreaterThanOrEqual(60_000)
    expect(icl.clock.now() - stoppedAt).toBeLessThanOrEqual(66_000)
    expect(has(leader, 'Abandoning 1 running job(s)')).toBe(true)
    expect(heartbeats(leader)).toBeGreaterThan(before)
    await icl.clock.advance(10_000)
    const view = await icl.clock.until(job.view())
    expect(view.quorum.find(({ node }) => node === leader.address)).toMatchObject({
      status: 'aborted',
      reason: 'node-stopping',
    })
    expect(view.status).toBe('accepted')
    expect(leader.history.records.at(-1)).toMatchObject({ reason: 'node-stopping' })
  })
})
