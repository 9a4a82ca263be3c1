import type { Clock } from './clock.ts'

// Cancels a timer. One error for all timers, because making one each costs more than the timer.
const over = new Error('The timer is not needed any more')

/** Runs `body`; rejects when `signal` aborts, or with `onTimeout()` after `ms`. A function `ms` is asked again then, and may extend it. */
export async function withDeadline<T>(
  clock: Clock,
  ms: number | (() => number),
  signal: AbortSignal | undefined,
  onTimeout: () => Error,
  body: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted()
  const ended = new AbortController()
  const timer = new AbortController()
  const onAbort = () => ended.abort(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  const aborted = new Promise<never>((_, reject) => {
    ended.signal.addEventListener('abort', () => reject(ended.signal.reason), { once: true })
  })
  sleepOut(clock, ms, timer.signal).then(
    () => ended.abort(onTimeout()),
    () => {},
  )
  try {
    // The race ends the wait even if `body` ignores its signal.
    return await Promise.race([body(ended.signal), aborted])
  } finally {
    timer.abort(over)
    signal?.removeEventListener('abort', onAbort)
  }
}

/** Calls `work` after `ms`, unless the returned function is called before. */
export function callAfter(clock: Clock, ms: number, work: () => void): () => void {
  if (clock.after) return clock.after(ms, work)
  const timer = new AbortController()
  clock.sleep(ms, timer.signal).then(work, () => {})
  return () => timer.abort(over)
}

/** Returns the result of `work`, or rejects with `onTimeout()` when it takes longer. The work goes on. */
export const within = <T>(
  clock: Clock,
  ms: number,
  onTimeout: () => Error,
  work: Promise<T>,
): Promise<T> =>
  new Promise((resolve, reject) => {
    const cancel = callAfter(clock, ms, () => reject(onTimeout()))
    work.then(resolve, reject).finally(cancel)
  })

async function sleepOut(clock: Clock, ms: number | (() => number), signal: AbortSignal) {
  if (typeof ms === 'number') return clock.sleep(ms, signal)
  for (let leftMs = ms(); leftMs > 0; leftMs = ms()) await clock.sleep(leftMs, signal)
}
