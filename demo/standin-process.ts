import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { systemClock } from '../lib/system.ts'
import type { AnswerKind } from './ngram-server.ts'
import { lastLogLines, type Processes, type Running } from './processes.ts'

const timeoutMs = 60_000
const pollMs = 25

/** Starts the stand-in for the hosted providers, and resolves when it listens. */
export async function startStandIn(
  processes: Processes,
  {
    signal,
    port = 0,
    script,
    ngrams,
  }: {
    readonly signal?: AbortSignal | undefined
    readonly port?: number | undefined
    /** The file with its answers, in place of the usual ones (`readScript`). */
    readonly script?: string | undefined
    /** The source of the answers of a small language model, which then replaces the stand-in. */
    readonly ngrams?: AnswerKind | undefined
  } = {},
): Promise<{ readonly url: string; readonly process: Running }> {
  const process = processes.start({
    name: 'provider-standin',
    args: [
      join(import.meta.dirname, ngrams ? 'ngram-server.ts' : 'provider-standin.ts'),
      ...['--port', String(port)],
      ...(ngrams ? ['--answers', ngrams] : []),
      ...(script === undefined ? [] : ['--script', resolve(script)]),
    ],
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
