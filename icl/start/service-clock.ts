import { systemClock } from '../../lib/system.ts'
import { createSteadyClock } from '../steady-clock.ts'

/** The time of the ICL in this process, its store included. */
export const serviceClock = createSteadyClock(systemClock)
