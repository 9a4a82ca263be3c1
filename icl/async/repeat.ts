import type { Dependencies } from '../dependencies.ts'
import { createFailures } from '../telemetry/failures.ts'

/** Runs work that may fail, which is logged as `createFailures` does. */
export function logOnce(
  deps: Pick<Dependencies, 'clock' | 'log'>,
  what: string,
): (work: () => Promise<void>) => Promise<void> {
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
  deps: Pick<Dependencies, 'clock' | 'log'>,
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
