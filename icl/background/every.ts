import type { Dependencies } from '../dependencies.ts'
import type { Log } from '../log.ts'

/** Runs work that may fail: a failure is logged once, until it has passed. */
export function patiently(log: Log, what: string): (work: () => Promise<void>) => Promise<void> {
  let failing = false
  return async (work) => {
    try {
      await work()
      failing = false
    } catch (error) {
      if (!failing) log.warn(`${what} failed`, { error: String(error) })
      failing = true
    }
  }
}

/** Runs `body` now and every `ms` until the signal aborts; a failure does not end it. */
export async function every(
  { clock, log }: Pick<Dependencies, 'clock' | 'log'>,
  ms: number,
  signal: AbortSignal,
  what: string,
  body: () => Promise<void>,
): Promise<void> {
  const run = patiently(log, what)
  while (!signal.aborted) {
    await run(body)
    await clock.sleep(ms, signal).catch(() => {})
  }
}
