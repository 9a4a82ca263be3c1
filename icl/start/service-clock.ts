import { systemClock } from '../../lib/system.ts'
import { createSteadyClock, type SteadyClock } from './steady-clock.ts'

/**
 * The time of the ICL over a database: steady over a sqlite file, which has one ICL, and the machine's over MongoDB. Replicas need one
 * common time more than a steady one, and what they have in common are their machines' clocks.
 */
export const serviceClockOver = (databaseUrl: string): SteadyClock =>
  /^mongodb(\+srv)?:/.test(databaseUrl)
    ? { ...systemClock, aheadMs: () => 0 }
    : createSteadyClock(systemClock)
