import { systemClock } from '../../lib/system.ts'
import { createSteadyClock, type SteadyClock } from './steady-clock.ts'

/**
 * Returns the ICL's clock for a database: a steady one over a sqlite file, which has one ICL, and the machine's over MongoDB. Replicas
 * need a common time more than a steady one, and their machines' clocks are what they have in common.
 */
export const serviceClockOver = (databaseUrl: string): SteadyClock =>
  /^mongodb(\+srv)?:/.test(databaseUrl)
    ? { ...systemClock, aheadMs: () => 0 }
    : createSteadyClock(systemClock)
