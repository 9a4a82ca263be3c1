import type { Clock } from '../../lib/clock.ts'
import { createFailures } from '../telemetry/failures.ts'
import type { Log } from '../telemetry/log.ts'

type Logged = { readonly clock: Clock; readonly log: Log }

/** Runs work that may fail, which is logged as `createFailures` does. */
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

/** Runs `body` now and every `ms` until the signal aborts; a failure does not end it. */
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
