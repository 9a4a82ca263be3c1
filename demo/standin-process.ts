import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../lib/system.ts'
import { lastLogLines, type Processes, type Running } from './processes.ts'

const timeoutMs = 60_000
const pollMs = 25

/** Starts the stand-in for the hosted providers and resolves once it listens. */
export async function startStandIn(
  processes: Processes,
  signal?: AbortSignal,
  port = 0,
): Promise<{ readonly url: string; readonly process: Running }> {
  const process = processes.start({
    name: 'provider-standin',
    args: [join(import.meta.dirname, 'provider-standin.ts'), '--port', String(port)],
  })
  const untilMs = systemClock.now() + timeoutMs
  for (;;) {
    const url = /\bat (http:\S+)\s/.exec(await readFile(process.logFile, 'utf8'))?.[1]
    if (url !== undefined) return { url, process }
    if (process.hasExited() || systemClock.now() > untilMs) {
      throw new Error(`The stand-in did not start:\n${await lastLogLines(process.logFile)}`)
    }
    await systemClock.sleep(pollMs, signal)
  }
}
