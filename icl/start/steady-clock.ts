import { type Clock, elapsedSince } from '../../lib/clock.ts'
import { callAfter } from '../../lib/deadline.ts'
import { systemClock } from '../../lib/system.ts'

/**
 * The clock by which the ICL measures deadlines. A step of the machine's clock moves no deadline: of a step of up to 10 minutes, which may
 * be wrong, service time follows 1 % of the passing time, and a restart takes it over. A larger step is taken over at once: the machine slept.
 */
export type SteadyClock = Clock & {
  /** How far the machine's clock is ahead of service time, in milliseconds. */
  aheadMs(): number
}

const pace = 0.01
// Well above a step of 5 minutes, because earlier drift of the clock adds to a step.
const longestFollowedMs = 600_000

/**
 * A steady clock over a machine's clock. It goes back only when the machine's clock is set back by more than 10 minutes. `onStep` is told
 * of each step that is taken over.
 */
export function createSteadyClock(
  machine: Clock,
  onStep: (stepMs: number) => void = () => {},
): SteadyClock {
  const startedAt = machine.monotonic()
  let startMs = machine.now()
  let readMs = 0
  const now = () => {
    const elapsedMs = elapsedSince(machine, startedAt)
    const stepMs = machine.now() - (startMs + elapsedMs)
    const mostMs = (elapsedMs - readMs) * pace
    readMs = elapsedMs
    const isTakenOver = Math.abs(stepMs) > longestFollowedMs
    startMs += isTakenOver ? stepMs : Math.min(Math.max(stepMs, -mostMs), mostMs)
    if (isTakenOver) onStep(stepMs)
    return Math.floor(startMs + elapsedMs)
  }
  return {
    now,
    monotonic: () => machine.monotonic(),
    sleep: (ms, signal) => machine.sleep(ms, signal),
    after: (ms, work) => callAfter(machine, ms, work),
    aheadMs: () => machine.now() - now(),
  }
}

/**
 * Returns the ICL's clock for a database: a steady one over a sqlite file, which has one ICL, and the machine's over MongoDB. Replicas
 * need a common time more than a steady one, and their machines' clocks are what they have in common. `warn` gets a text for the operator.
 */
export const serviceClockOver = (databaseUrl: string, warn: (text: string) => void): SteadyClock =>
  /^mongodb(\+srv)?:/.test(databaseUrl)
    ? { ...systemClock, aheadMs: () => 0 }
    : createSteadyClock(systemClock, (stepMs) => warn(takenOver(stepMs)))

const takenOver = (stepMs: number): string => {
  const seconds = Math.round(Math.abs(stepMs) / 1000)
  return stepMs > 0
    ? `the machine's clock went ${seconds} s ahead at once: jobs that ran may have ended by it; if the machine did not sleep, check its clock (NTP)`
    : `the machine's clock was set ${seconds} s back: jobs that run may take that much longer; check its clock (NTP)`
}
