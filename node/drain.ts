import type { Clock } from '../lib/clock.ts'
import { nodeStopping } from './jobs/job-end.ts'
import type { Log } from './log.ts'
import type { Slots } from './slots.ts'

// Enough to tell the ICL of every job that the node gives back.
const giveBackMs = 5_000

/** Waits for the running jobs. Gives them back after `drainMs`, or when `abandon` aborts (spec 3.2). */
export async function drain(
  options: { readonly clock: Clock; readonly log: Log; readonly drainMs: number },
  slots: Slots,
  jobs: AbortController,
  abandon: AbortSignal,
): Promise<void> {
  const { clock, log } = options
  await settled(clock, slots, options.drainMs, abandon)
  const left = slots.running().length
  if (left === 0) return
  log.warning(`Abandoning ${left} running job(s)`)
  jobs.abort(nodeStopping())
  await settled(clock, slots, giveBackMs)
}

/** Waits until all jobs have ended, `ms` have passed, or `signal` aborts. */
async function settled(
  clock: Clock,
  slots: Slots,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  if (slots.running().length === 0) return
  const done = new AbortController()
  const signals = signal === undefined ? [done.signal] : [done.signal, signal]
  await Promise.race([
    Promise.allSettled(slots.running()),
    clock.sleep(ms, AbortSignal.any(signals)).catch(() => {}),
  ])
  done.abort()
}
