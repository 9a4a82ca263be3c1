import type { Clock } from '../../lib/clock.ts'
import { callAfter } from '../../lib/deadline.ts'

/** Resolves when the work ends or after `ms`, whichever comes first. Rejects when the work rejects before. */
export const atMost = (clock: Clock, ms: number, work: Promise<unknown>): Promise<void> =>
  new Promise((resolve, reject) => {
    const cancel = callAfter(clock, ms, resolve)
    work.then(() => resolve(), reject).finally(cancel)
  })
