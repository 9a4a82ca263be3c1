import { describe, expect, it } from 'vitest'
import { ProblemError } from '../../../lib/problem.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { pollAssignments } from '../../../node/loops/poller.ts'
import { createSlots } from '../../../node/slots.ts'
import { createDice } from '../../simulation/dice.ts'
import { createVirtualClock } from '../../virtual-clock.ts'
import { jobId, nodeAddress } from '../fakes.ts'

const quiet = {
  debug: () => {},
  info: () => {},
  warning: () => {},
  error: () => {},
}
const pollSeconds = 5
const stepMs = 1_000

/** Nodes that poll an ICL, which a test takes away. */
function createPool(count: number) {
  const clock = createVirtualClock(1_800_000_000_000, 1)
  const dice = createDice(1)
  let failure: Error | undefined
  let cut = Promise.withResolvers<never>()
  cut.promise.catch(() => {})
  const requests = new Map<number, number>()
  const back = new Set<number>()
  const stops = Array.from({ length: count }, (_, index) => {
    const stop = new AbortController()
    void pollAssignments(
      {
        api: {
          getAssignments: async () => {
            const second = Math.floor(clock.now() / 1000)
            requests.set(second, (requests.get(second) ?? 0) + 1)
            if (failure) throw failure
            back.add(index)
            await Promise.race([clock.sleep(pollSeconds * 1000, stop.signal), cut.promise])
            return { assignments: [] }
          },
        },
        pollSeconds,
        address: nodeAddress,
        slots: createSlots(1),
        take: () => [],
        onBack: () => {},
        mayWork: () => true,
        clock,
        random: dice.fork(String(index)),
        log: quiet,
      },
      stop.signal,
    )
    return stop
  })
  /** In steps, each of which fires what became due in it: many nodes take long one by one. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += stepMs) await clock.jump(stepMs)
  }
  return {
    back,
    pass,
    fail: (error: Error) => {
      back.clear()
      failure = error
      cut.reject(error)
    },
    recover: () => {
      cut = Promise.withResolvers<never>()
      cut.promise.catch(() => {})
      failure = undefined
    },
    /** The most requests in a second since the last look. */
    mostRequests: () => {
      const most = Math.max(...requests.values())
      requests.clear()
      return most
    },
    stop: () => {
      for (const stop of stops) stop.abort()
    },
  }
}

const away = new SvcError('icl-unreachable', 'gone', { hint: '', retryable: true })

describe('after an ICL was away', () => {
  it('a thousand nodes poll again within 5 s, and not all at once', async () => {
    const pool = createPool(1_000)
    await pool.pass(1_000)
    pool.mostRequests()
    pool.fail(away)
    await pool.pass(90_000)
    const whileAway = pool.mostRequests()
    pool.recover()
    await pool.pass(5_000)
    expect(pool.back.size).toBe(1_000)
    // All that lost it at one moment try once more then; each try after that comes at a time of its own.
    expect(whileAway).toBeLessThan(1_450)
    expect(pool.mostRequests()).toBeLessThan(450)
    pool.stop()
  })

  it('a node that is refused does not ask again every few seconds', async () => {
    const pool = createPool(1)
    await pool.pass(1_000)
    pool.fail(new ProblemError('node-banned', 'No'))
    await pool.pass(120_000)
    pool.recover()
    await pool.pass(15_000)
    expect(pool.back.size).toBe(0)
    await pool.pass(45_000)
    expect(pool.back.size).toBe(1)
    pool.stop()
  })

  it('a node polls after a minute at the latest, though the ICL or a proxy asked it to wait for a day', async () => {
    const pool = createPool(1)
    await pool.pass(1_000)
    pool.fail(new ProblemError('unavailable', 'No', { retryAfterSeconds: 86_400 }))
    await pool.pass(30_000)
    pool.recover()
    await pool.pass(15_000)
    expect(pool.back.size).toBe(0)
    await pool.pass(30_000)
    expect(pool.back.size).toBe(1)
    pool.stop()
  })
})

describe('a node without a free slot', () => {
  it('polls as soon as a job has freed its slot', async () => {
    const clock = createVirtualClock(1_800_000_000_000, 1)
    const slots = createSlots(1)
    const job = Promise.withResolvers<void>()
    slots.start({ jobId, fence: 1 }, (freeSlot) => {
      void clock.sleep(stepMs).then(freeSlot)
      return job.promise
    })
    const stop = new AbortController()
    const asked: [afterMs: number, wait: number | undefined][] = []
    const since = clock.now()
    void pollAssignments(
      {
        api: {
          getAssignments: async ({ query }) => {
            asked.push([clock.now() - since, query?.wait])
            if (query?.wait) await clock.sleep(query.wait * 1000, stop.signal)
            return { assignments: [] }
          },
        },
        ...{ pollSeconds, address: nodeAddress, slots, clock, random: createDice(1), log: quiet },
        ...{ take: () => [], onBack: () => {}, mayWork: () => true },
      },
      stop.signal,
    )
    await clock.advance(2 * stepMs)
    expect(asked).toEqual([
      [0, 0],
      [stepMs, pollSeconds],
    ])
    stop.abort()
    job.resolve()
  })
})
