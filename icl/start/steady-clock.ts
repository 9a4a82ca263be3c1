import { type Clock, elapsedSince } from '../../lib/clock.ts'

/**
 * The time by which the ICL measures deadlines: the machine's at the start, and from then on what a monotonic clock adds. A step of the
 * machine's clock moves no deadline. Whether the clock was right before the step or after it, nobody here knows, so service time follows
 * a step of up to 10 minutes by 1 % of the time that passes, which no lease notices: 5 minutes take 8 hours, a restart takes them over at
 * once. A larger step is taken over at once: the machine slept for long, or was hours off, and service time must not stay so.
 */
export type SteadyClock = Clock & {
  /** How far the machine's clock is ahead of service time, in milliseconds. */
  aheadMs(): number
}

const pace = 0.01
// A step of 5 minutes has to be well within it: what the clock drifted before adds to the step.
const longestFollowedMs = 600_000

/** Service time over a machine's clock; it never goes back but when that is set back by more than 10 minutes. */
export function createSteadyClock(machine: Clock): SteadyClock {
  const startedAt = machine.monotonic()
  let startMs = machine.now()
  let readMs = 0
  const now = () => {
    const elapsedMs = elapsedSince(machine, startedAt)
    const stepMs = machine.now() - (startMs + elapsedMs)
    const mostMs = (elapsedMs - readMs) * pace
    readMs = elapsedMs
    startMs +=
      Math.abs(stepMs) > longestFollowedMs ? stepMs : Math.min(Math.max(stepMs, -mostMs), mostMs)
    return Math.floor(startMs + elapsedMs)
  }
  return {
    now,
    monotonic: () => machine.monotonic(),
    sleep: (ms, signal) => machine.sleep(ms, signal),
    aheadMs: () => machine.now() - now(),
  }
}
