import type { Clock } from '../clock.ts'

/** Runs work that should finish rather than stop halfway: its own signal aborts `graceMs` (milliseconds) after `signal` does. */
export async function withGrace<T>(
  clock: Clock,
  graceMs: number,
  signal: AbortSignal | undefined,
  body: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted()
  const late = new AbortController()
  const ended = new AbortController()
  const onAbort = () => {
    clock.sleep(graceMs, ended.signal).then(
      () => late.abort(signal?.reason),
      () => {},
    )
  }
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    return await body(late.signal)
  } finally {
    ended.abort()
    signal?.removeEventListener('abort', onAbort)
  }
}
