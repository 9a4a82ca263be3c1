import { describe, expect, it, vi } from 'vitest'
import { exitCodeOf } from '../../lib/host/explain-error.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { runDaemon } from '../../node/daemon.ts'
import { aJobId } from '../branded.ts'
import { createDaemonWorld, type DaemonWorld } from './daemon-world.ts'
import { nodeAddress } from './fakes.ts'

const end = async (world: DaemonWorld, running: Promise<void>) => {
  world.stop.abort()
  await world.clock.until(running)
}

describe('the daemon', () => {
  it('says who it is, then sends a heartbeat before it first polls', async () => {
    const world = await createDaemonWorld()
    const running = world.start()
    await world.clock.advance(0)
    expect(world.log.lines[0]).toBe(
      `INFO Daemon starting: version 1.2.3, address ${nodeAddress}, tier 0, models openai:test-model (test-model), certificate valid for 86400 s`,
    )
    const beat = world.api.postHeartbeat.mock.invocationCallOrder[0]
    expect(beat).toBeLessThan(world.api.getAssignments.mock.invocationCallOrder[0]!)
    expect(world.api.postHeartbeat.mock.calls[0]![0].body).toEqual({
      operator_address: nodeAddress,
      timestamp: Math.floor(world.clock.now() / 1000),
      version: '1.2.3',
      free_slots: 2,
      supported_model_ids: ['openai:test-model'],
      model_takes: [],
      withdrawn: [],
      supported_comparators: ['exact', 'similar/2', 'structured/1'],
    })
    await end(world, running)
  })

  it('does no more at once than it has slots, whatever an ICL offers', async () => {
    const world = await createDaemonWorld()
    const { assignment } = world
    const assignments = Array.from({ length: 50 }, (_, at) => ({ ...assignment, fence: at + 1 }))
    world.api.getAssignments.mockResolvedValueOnce({ assignments })
    const running = world.start()
    await world.clock.advance(1_000)
    expect(world.lines('Spawning')).toHaveLength(2)
    await end(world, running)
  })

  it('works once on an assignment that a poll names several times', async () => {
    const world = await createDaemonWorld({ jobs: 4 })
    const { assignment } = world
    world.api.getAssignments.mockResolvedValueOnce({ assignments: [assignment, assignment] })
    const running = world.start()
    await world.clock.advance(60_000)
    expect(world.lines('Spawning')).toHaveLength(1)
    expect(world.complete).toHaveBeenCalledTimes(1)
    await end(world, running)
  })

  it('sends a heartbeat every 60 s', async () => {
    const world = await createDaemonWorld()
    const running = world.start()
    await world.clock.advance(300_000)
    expect(world.lines('Heartbeat sent to ICL')).toHaveLength(6)
    await end(world, running)
  })

  it('tells the ICL at once of models that it offers no more, and works on for jobs that it has', async () => {
    const world = await createDaemonWorld()
    world.offer(1)
    const running = world.start()
    await world.clock.advance(0)
    world.offerNothing()
    await world.clock.advance(1_000)
    const beats = world.api.postHeartbeat.mock.calls.map(([{ body }]) => body.supported_model_ids)
    expect(beats).toEqual([['openai:test-model'], []])
    await world.clock.advance(30_000)
    expect(world.lines('Leader result accepted')).toHaveLength(1)
    await end(world, running)
  })

  it('warns of a heartbeat that failed, and sends the next one all the same', async () => {
    const world = await createDaemonWorld()
    world.api.postHeartbeat.mockRejectedValueOnce(new Error('no route'))
    const running = world.start()
    await world.clock.advance(60_000)
    expect(world.log.lines).toContain('WARNING Heartbeat failed: no route')
    expect(world.lines('Heartbeat sent to ICL')).toHaveLength(1)
    await end(world, running)
  })

  it('takes no work while its disk takes no files, says so to the ICL at once, and continues by itself', async () => {
    const world = await createDaemonWorld()
    const free = () => world.api.postHeartbeat.mock.calls.at(-1)?.[0].body.free_slots
    const running = world.start()
    await world.clock.advance(1_000)
    expect(free()).toBe(2)
    world.disk.failure = new Error('ENOSPC: no space left on device, write')
    const fail = vi.spyOn(world.deps.journal, 'note').mockImplementation(() => {
      throw world.disk.failure
    })
    world.offer(1)
    await world.clock.advance(20_000)
    expect(world.lines('Taking no work: ENOSPC')).toHaveLength(1)
    expect(free()).toBe(0)
    const { length: polls } = world.polls
    world.offer(2)
    await world.clock.advance(120_000)
    expect(world.api.claimAssignment).not.toHaveBeenCalled()
    expect([world.polls.length, free()]).toEqual([polls, 0])
    fail.mockRestore()
    world.disk.failure = undefined
    await world.clock.advance(60_000)
    expect(world.lines('The disk takes files again')).toHaveLength(1)
    expect(world.api.claimAssignment).toHaveBeenCalledTimes(1)
    await end(world, running)
  })

  it('takes no work while its wallet cannot pay for an answer, says so to the ICL at once, and continues by itself', async () => {
    const world = await createDaemonWorld()
    const free = () => world.api.postHeartbeat.mock.calls.at(-1)?.[0].body.free_slots
    world.chain.state.paidFor = 0
    const running = world.start()
    await world.clock.advance(1_000)
    expect(world.lines('Taking no work: the wallet cannot pay')).toHaveLength(1)
    expect(free()).toBe(0)
    world.offer(1)
    await world.clock.advance(120_000)
    expect(world.api.claimAssignment).not.toHaveBeenCalled()
    world.chain.state.paidFor = 20
    await world.clock.advance(60_000)
    expect(world.lines('The wallet can pay for answers again')).toHaveLength(1)
    expect(world.api.claimAssignment).toHaveBeenCalledTimes(1)
    await end(world, running)
  })

  it('says each hour that gas money is missing or short, and that the ICL considers it only when it takes work', async () => {
    const world = await createDaemonWorld()
    const { state } = world.chain
    state.paidFor = 0
    const running = world.start()
    await world.clock.advance(59 * 60_000)
    expect(world.lines('Taking no work: the wallet cannot pay')).toHaveLength(1)
    expect(world.lines('The ICL considers this node')).toHaveLength(0)
    await world.clock.advance(2 * 60_000)
    expect(world.lines('Taking no work: the wallet cannot pay')).toHaveLength(2)
    state.paidFor = 9
    await world.clock.advance(2 * 60_000)
    expect(world.lines('The ICL considers this node')).toHaveLength(1)
    expect(world.lines('can pay for 9 more answer(s)')).toHaveLength(1)
    await world.clock.advance(60 * 60_000)
    expect(world.lines('can pay for 9 more answer(s)')).toHaveLength(2)
    await end(world, running)
  })

  it('notices at a delivery that its wallet cannot pay any more', async () => {
    const world = await createDaemonWorld()
    const running = world.start()
    await world.clock.advance(1_000)
    world.chain.state.paidFor = 0
    world.offer(1)
    await world.clock.advance(30_000)
    expect(world.lines('aborted: no funds for gas')).toHaveLength(1)
    expect(world.lines('Taking no work: the wallet cannot pay')).toHaveLength(1)
    await end(world, running)
  })

  it('sends a heartbeat that failed again as soon as the ICL answers, and says once that it was away', async () => {
    const world = await createDaemonWorld()
    const away = new SvcError('icl-unreachable', 'gone', { hint: 'Wait.', retryable: true })
    world.api.postHeartbeat.mockRejectedValueOnce(away)
    for (let polls = 0; polls < 6; polls++) world.api.getAssignments.mockRejectedValueOnce(away)
    const running = world.start()
    await world.clock.advance(30_000)
    expect(world.lines('Heartbeat sent to ICL')).toHaveLength(1)
    expect(world.lines('Polling for assignments failed')).toHaveLength(1)
    await end(world, running)
  })

  it('says once per change why the ICL does not consider it', async () => {
    const world = await createDaemonWorld()
    const left = { ...world.answer, eligible: false, reasons: ['not-registered' as const] }
    world.api.postHeartbeat.mockResolvedValueOnce(left).mockResolvedValueOnce(left)
    const running = world.start()
    await world.clock.advance(180_000)
    expect(world.lines('does not consider this node')).toHaveLength(1)
    expect(world.lines('run `svc-node register`')).toHaveLength(1)
    expect(world.lines('The ICL considers this node')).toHaveLength(1)
    await end(world, running)
  })

  it('takes jobs side by side up to its slots, and the rest when one is free', async () => {
    const world = await createDaemonWorld()
    let most = 0
    let now = 0
    world.complete.mockImplementation(async () => {
      most = Math.max(most, ++now)
      await world.clock.sleep(10_000)
      now--
      return 'Four.'
    })
    for (let digit = 1; digit <= 5; digit++) world.offer(digit)
    const running = world.start()
    await world.clock.advance(60_000)
    expect(most).toBe(2)
    expect(world.lines('Leader result accepted')).toHaveLength(5)
    expect(world.lines('Received 5 assignment(s)')).toHaveLength(1)
    expect(world.lines('Spawning leader job 0x111')).toHaveLength(1)
    await end(world, running)
  })

  it('has an output key ready before a job comes, and makes the next after each delivery', async () => {
    const world = await createDaemonWorld()
    const encrypt = vi.spyOn(world.deps.coprocessor, 'encrypt')
    const running = world.start()
    await world.clock.advance(30_000)
    expect(encrypt).toHaveBeenCalledTimes(1)
    world.offer(1)
    await world.clock.advance(30_000)
    expect(world.chain.stored).toHaveLength(1)
    expect(encrypt).toHaveBeenCalledTimes(2)
    await end(world, running)
  })

  it('runs an assignment once, however often it is offered', async () => {
    const world = await createDaemonWorld()
    world.api.claimAssignment.mockImplementation(async ({ body }) => ({ ...world.claim, ...body }))
    world.offer(1)
    const running = world.start()
    await world.clock.advance(60_000)
    expect(world.api.claimAssignment).toHaveBeenCalledTimes(1)
    world.offers[0] = { ...world.offers[0]!, fence: 2 }
    await world.clock.advance(10_000)
    expect(world.api.claimAssignment).toHaveBeenCalledTimes(2)
    await end(world, running)
  })

  it('gives the slot back for a job that fails', async () => {
    const world = await createDaemonWorld({ jobs: 1 })
    world.complete.mockRejectedValueOnce(new Error('x'))
    world.offer(1)
    world.offer(2)
    const running = world.start()
    await world.clock.advance(30_000)
    expect(world.lines('Leader result accepted')).toHaveLength(1)
    await end(world, running)
  })
})

describe('jobs that a killed daemon left', () => {
  const leftBy = async (count: number) => {
    const { assignment } = await createDaemonWorld()
    return Array.from({ length: count }, (_, index) => ({
      assignment: { ...assignment, jobId: aJobId(`0x${String(index + 1).repeat(64)}`) },
      startedAt: 1,
      asked: 1,
      verdicts: [],
    }))
  }
  it('are finished once, also when the ICL offers them again meanwhile', async () => {
    const world = await createDaemonWorld({ unfinished: await leftBy(1) })
    world.offer(1)
    const running = world.start()
    await world.clock.advance(30_000)
    expect(world.lines('resuming as leader')).toHaveLength(1)
    expect(world.lines('Leader result accepted')).toHaveLength(1)
    expect(world.lines('Spawning')).toHaveLength(0)
    await end(world, running)
  })

  it('take their slots before new ones do', async () => {
    const world = await createDaemonWorld({ unfinished: await leftBy(3), jobs: 2 })
    world.complete.mockImplementation(() => world.clock.sleep(20_000).then(() => 'Four.'))
    world.offer(8)
    world.offer(9)
    const running = world.start()
    await world.clock.advance(15_000)
    expect(world.lines('resuming as leader')).toHaveLength(3)
    expect(world.lines('Spawning')).toHaveLength(0)
    await world.clock.advance(60_000)
    expect(world.lines('Leader result accepted')).toHaveLength(5)
    await end(world, running)
  })

  it('are given back when the daemon stops before the ICL answers', async () => {
    const world = await createDaemonWorld({ unfinished: await leftBy(1) })
    world.api.getAssignment.mockRejectedValue(new ProblemError('unavailable', 'away'))
    const running = world.start()
    await world.clock.advance(10_000)
    world.stop.abort()
    world.abandon.abort()
    await world.clock.until(running)
    expect(world.api.abortAssignment.mock.calls[0]![0].body.reason).toBe('node-stopping')
    expect(world.log.lines.at(-1)).toBe('INFO Daemon stopped')
  })
})

describe('polling', () => {
  it('comes every 5 s, held by the ICL while there are free slots, and says when it is quiet', async () => {
    const world = await createDaemonWorld()
    const running = world.start()
    await world.clock.advance(129_000)
    expect(world.polls).toEqual(Array.from({ length: 26 }, (_, n) => ({ at: n * 5, wait: 5 })))
    expect(world.lines('No assignments for last 60s')).toHaveLength(2)
    await end(world, running)
  })

  it('comes as seldom as the ICL asks for, and is held as long', async () => {
    const world = await createDaemonWorld({ pollSeconds: 25 })
    const running = world.start()
    await world.clock.advance(60_000)
    expect(world.polls).toEqual([0, 25, 50].map((at) => ({ at, wait: 25 })))
    await end(world, running)
  })

  it('comes every 5 s, not held, while all slots are busy', async () => {
    const world = await createDaemonWorld({ jobs: 1 })
    world.complete.mockImplementation(() => world.clock.sleep(30_000).then(() => 'Four.'))
    world.offer(1)
    const running = world.start()
    await world.clock.advance(21_000)
    expect(world.polls.map(({ wait }) => wait)).toEqual([5, 0, 0, 0, 0])
    expect(world.polls.map(({ at }) => at)).toEqual([0, 5, 10, 15, 20])
    await end(world, running)
  })

  it('rests for 2 s while it works, and takes what the answers to its steps bring meanwhile', async () => {
    const world = await createDaemonWorld({ jobs: 2 })
    const { commitAssignment, postResult, postVerdict } = world.api
    world.complete.mockImplementation(() => world.clock.sleep(500).then(() => 'Four.'))
    const brought = { ...world.assignment, jobId: aJobId(`0x${'cd'.repeat(32)}`) }
    const commit = commitAssignment.getMockImplementation()!
    commitAssignment.mockImplementationOnce(async (...asked) => ({
      ...(await commit(...asked)),
      assignments: [brought, brought],
    }))
    for (const post of [postResult, postVerdict])
      post.mockImplementation(() => new Promise<never>(() => {}))
    world.offer(1)
    const running = world.start()
    await world.clock.advance(1_500)
    expect(world.polls.map(({ at }) => at)).toEqual([0])
    expect(world.lines(`Job ${brought.jobId}: claimed`)).toHaveLength(1)
    await world.clock.advance(1_000)
    expect(world.polls.map(({ at }) => at)).toEqual([0, 2])
    await end(world, running)
  })

  it('continues when the clock is set back', async () => {
    const world = await createDaemonWorld()
    const { clock } = world
    let setBackMs = 0
    const deps = { ...world.deps, clock: { ...clock, now: () => clock.now() - setBackMs } }
    const running = runDaemon(deps, world.stop.signal, world.abandon.signal)
    await clock.advance(30_000)
    setBackMs = 6 * 3_600_000
    await clock.advance(60_000)
    world.offer(1)
    await clock.advance(60_000)
    expect(world.lines('Leader result accepted')).toHaveLength(1)
    await end(world, running)
  })

  it('warns once a minute of each cause for which it fails', async () => {
    const world = await createDaemonWorld()
    const unreachable = new SvcError('icl-unreachable', 'gone', { hint: 'Wait.', retryable: true })
    const failures = [unreachable, unreachable, unreachable, new ProblemError('node-banned', 'no')]
    let polls = 0
    world.api.getAssignments.mockImplementation(async () => {
      throw failures[polls++] ?? unreachable
    })
    const running = world.start()
    await world.clock.advance(50_000)
    expect(polls).toBeGreaterThan(5)
    expect(world.lines('Polling for assignments failed: ')).toEqual([
      expect.stringContaining('gone'),
      expect.stringContaining('node-banned'),
    ])
    await world.clock.advance(30_000)
    expect(world.lines('Polling for assignments failed: ').slice(2)).toEqual([
      expect.stringContaining('gone'),
    ])
    await end(world, running)
  })

  it('backs off with jitter while the ICL cannot be reached', async () => {
    const world = await createDaemonWorld()
    world.api.getAssignments.mockRejectedValue(new Error('no route'))
    const running = world.start()
    await world.clock.advance(300_000)
    const { calls } = world.api.getAssignments.mock
    expect(calls.length).toBeGreaterThanOrEqual(7)
    expect(calls.length).toBeLessThanOrEqual(14)
    await end(world, running)
  })
})

describe('the certificate', () => {
  for (const code of ['not-attested', 'certificate-expired', 'signature-invalid'] as const) {
    it(`is renewed when the ICL answers ${code}, and the call is made again`, async () => {
      const world = await createDaemonWorld()
      world.api.postHeartbeat.mockRejectedValueOnce(new ProblemError(code, 'who?'))
      const running = world.start()
      await world.clock.advance(0)
      expect(world.attest).toHaveBeenCalledTimes(1)
      expect(world.lines('Heartbeat sent to ICL')).toHaveLength(1)
      await end(world, running)
    })
  }

  it('is followed by a heartbeat at once when the ICL had forgotten the node, for it has no other word of it', async () => {
    const world = await createDaemonWorld()
    const running = world.start()
    await world.clock.advance(21_000)
    expect(world.api.postHeartbeat).toHaveBeenCalledTimes(1)
    world.api.getAssignments.mockRejectedValueOnce(new ProblemError('not-attested', 'x'))
    await world.clock.advance(21_000)
    expect(world.attest).toHaveBeenCalledTimes(1)
    expect(world.api.postHeartbeat).toHaveBeenCalledTimes(2)
    await end(world, running)
  })

  it('that the ICL refuses because daemons supersede one another ends the daemon before it does anything', async () => {
    const world = await createDaemonWorld({ secondsLeft: 0 })
    world.attest.mockRejectedValue(new ProblemError('run-conflict', 'two daemons'))
    const error = await world.clock.until(world.start().catch((why: unknown) => why))
    expect(error).toMatchObject({ code: 'run-conflict' })
    expect(exitCodeOf(error)).toBe(1)
    expect(world.attest).toHaveBeenCalledTimes(1)
    expect(world.api.postHeartbeat).not.toHaveBeenCalled()
    expect(world.lines('Stop all but one')).not.toEqual([])
  })
})

describe('the on-chain heartbeat', () => {
  it('is sent when the last one is 10 days old, by the chain', async () => {
    const world = await createDaemonWorld()
    world.chain.state.lastHeartbeat = Math.floor(world.clock.now() / 1000) - 10 * 86_400 + 5_000
    const running = world.start()
    await world.clock.advance(3_600_000)
    expect(world.chain.state.heartbeats).toBe(0)
    await world.clock.advance(3_600_000)
    expect(world.chain.state.heartbeats).toBe(1)
    await end(world, running)
  })

  it('is sent once a day at most by a machine whose clock is ahead of the chain: each costs gas', async () => {
    const world = await createDaemonWorld()
    // The chain's time of a heartbeat stays 11 days behind.
    world.chain.state.lastHeartbeat = Math.floor(world.clock.now() / 1000) - 11 * 86_400
    const running = world.start()
    await world.clock.advance(23 * 3_600_000)
    expect(world.chain.state.heartbeats).toBe(1)
    await world.clock.advance(2 * 3_600_000)
    expect(world.chain.state.heartbeats).toBe(2)
    await end(world, running)
  })

  it('is not sent by a wallet that is not registered, which is said once', async () => {
    const world = await createDaemonWorld()
    world.chain.state.isRegistered = false
    const running = world.start()
    await world.clock.advance(3 * 3_600_000)
    expect(world.chain.state.heartbeats).toBe(0)
    expect(world.lines('not registered')).toHaveLength(1)
    await end(world, running)
  })
})

it('memory above 2 GB is warned of once, until it was below', async () => {
  const world = await createDaemonWorld()
  const running = world.start()
  world.memory.bytes = 1.9 * 2 ** 30
  await world.clock.advance(120_000)
  expect(world.lines('Memory use is')).toEqual([])
  world.memory.bytes = 2.5 * 2 ** 30
  await world.clock.advance(300_000)
  expect(world.lines('WARNING Memory use is 2.5 GB')).toHaveLength(1)
  world.memory.bytes = 2 ** 30
  await world.clock.advance(60_000)
  world.memory.bytes = 3 * 2 ** 30
  await world.clock.advance(60_000)
  expect(world.lines('Memory use is')).toHaveLength(2)
  await end(world, running)
})

it('memory is dropped after the start, and again when it grew and no job runs', async () => {
  const world = await createDaemonWorld()
  world.memory.bytes = 90 * 2 ** 20
  const running = world.start()
  await world.clock.advance(1_000)
  expect(world.memory.shrinks).toBe(1)
  await world.clock.advance(300_000)
  expect(world.memory.shrinks).toBe(1)
  const answer = Promise.withResolvers<string>()
  world.complete.mockReturnValueOnce(answer.promise)
  world.offers.push(world.assignment)
  world.memory.bytes = 99 * 2 ** 20
  await world.clock.advance(60_000)
  expect(world.memory.shrinks).toBe(1)
  answer.resolve('')
  await world.clock.advance(60_000)
  expect(world.memory.shrinks).toBe(2)
  await end(world, running)
})

it('a loop that breaks takes the daemon down with it', async () => {
  const world = await createDaemonWorld()
  const log = {
    ...world.log,
    info: (message: string) => {
      if (message.startsWith('Received')) throw new TypeError('the log is full')
    },
    warning: () => {
      throw new TypeError('the log is full')
    },
  }
  world.offer(1)
  const running = runDaemon({ ...world.deps, log }, world.stop.signal)
  await expect(world.clock.until(running)).rejects.toThrow('the log is full')
})

describe('stopping', () => {
  it('gives jobs back at once when told so a second time', async () => {
    const world = await createDaemonWorld()
    // A job that does not heed its signal must not hold the process.
    world.complete.mockImplementation(() => world.clock.sleep(110_000).then(() => 'late'))
    world.offer(1)
    const running = world.start()
    await world.clock.advance(1_000)
    const stoppedAt = world.clock.now()
    world.stop.abort()
    world.abandon.abort()
    await world.clock.until(running)
    expect(world.clock.now() - stoppedAt).toBeLessThanOrEqual(5_000)
    expect(world.api.abortAssignment.mock.calls[0]![0].body.reason).toBe('node-stopping')
  })

  it('at once when nothing runs, even if the final heartbeat fails', async () => {
    const world = await createDaemonWorld()
    const running = world.start()
    await world.clock.advance(30_000)
    world.api.postHeartbeat.mockRejectedValue(new Error('no route'))
    await end(world, running)
    expect(world.log.lines.at(-1)).toBe('INFO Daemon stopped')
  })
})
