import type { Clock } from '../../lib/clock.ts'
import { createFailures } from '../telemetry/failures.ts'
import type { Log } from '../telemetry/log.ts'

type Logged = { readonly clock: Clock; readonly log: Log }

/** Returns a function that runs work and logs its failures as `createFailures` does. It never rejects. */
export function logOnce(deps: Logged, what: string): (work: () => Promise<void>) => Promise<void> {
  const failures = createFailures(deps, `${what} failed`)
  return async (work) => {
    try {
      await work()
      failures.passed(what)
    } catch (error) {
      failures.failed(what, error)
    }
  }
}

/** Runs `body` now, and again `ms` after each run until the signal aborts. Logs failures and goes on. */
export async function every(
  deps: Logged,
  ms: number,
  signal: AbortSignal,
  what: string,
  body: () => Promise<void>,
): Promise<void> {
  const run = logOnce(deps, what)
  while (!signal.aborted) {
    await run(body)
    await deps.clock.sleep(ms, signal).catch(() => {})
  }
}
