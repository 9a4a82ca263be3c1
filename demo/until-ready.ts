import { ask } from '../lib/outgoing.ts'
import { systemClock } from '../lib/system.ts'
import { systemFetch } from '../lib/system-fetch.ts'
import { lastLogLines, type Running } from './processes.ts'

/** How to wait for a process. */
type Waiting = {
  readonly timeoutMs: number
  readonly pollMs: number
  readonly signal?: AbortSignal | undefined
}

/** Polls until a process has what `look` finds. Throws with its last log lines when it ends before, or is late. */
export async function untilReady<T>(
  running: Running,
  { timeoutMs, pollMs, signal }: Waiting,
  look: () => Promise<T | undefined>,
): Promise<T> {
  const untilMs = systemClock.now() + timeoutMs
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    signal?.throwIfAborted()
    if (running.hasExited() || systemClock.now() > untilMs) {
      const how = running.hasExited() ? `ended with ${await running.exited}` : 'is not ready'
      throw new Error(`${running.name} ${how}:\n${await lastLogLines(running.logFile)}`)
    }
    await systemClock.sleep(pollMs, signal)
  }
}

/** True if a request to this machine gets a successful response within two seconds, else undefined. */
export const respondsAt = (url: string, method = 'GET'): Promise<true | undefined> =>
  ask(systemFetch, url, { method, signal: AbortSignal.timeout(2_000), maxBytes: 65_536 }).then(
    ({ ok }) => ok || undefined,
    () => undefined,
  )
