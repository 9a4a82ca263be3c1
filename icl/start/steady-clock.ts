import { type Clock, elapsedSince } from '../../lib/clock.ts'

/**
 * The clock by which the ICL measures deadlines: the machine's time at the start, plus what a monotonic clock adds. So a step of the
 * machine's clock moves no deadline. The ICL cannot know which side of a step is right, so service time follows a step of up to 10 minutes
 * by 1 % of the passing time, which no lease notices. That takes 8 hours for 5 minutes, and a restart takes the step over at once. A larger
 * step is taken over at once: the machine slept, or was hours off, and service time must not stay wrong.
 */
export type SteadyClock = Clock & {
  /** How far the machine's clock is ahead of service time, in milliseconds. */
  aheadMs(): number
}

const pace = 0.01
// Well above a step of 5 minutes, because earlier drift of the clock adds to a step.
const longestFollowedMs = 600_000

/** A steady clock over a machine's clock. It goes back only when the machine's clock is set back by more than 10 minutes. */
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
