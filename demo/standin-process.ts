import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { AnswerKind } from './ngram-server.ts'
import type { Processes, Running } from './processes.ts'
import type { RealModelFiles } from './real-model/install.ts'
import { untilReady } from './until-ready.ts'

/** Starts the stand-in for the hosted providers, and resolves when it listens. */
export async function startStandIn(
  processes: Processes,
  options: {
    readonly signal?: AbortSignal | undefined
    readonly port?: number | undefined
    /** The file with its answers, in place of the usual ones (`readScript`). */
    readonly script?: string | undefined
    /** The source of the answers of a small language model, which then replaces the stand-in. */
    readonly ngrams?: AnswerKind | undefined
    /** The installed real model, which then replaces the stand-in. */
    readonly realModel?: RealModelFiles | undefined
  } = {},
): Promise<{ readonly url: string; readonly process: Running }> {
  const { signal, port = 0, script, ngrams, realModel } = options
  const [file, ...args] = realModel
    ? [
        'real-model/server.ts',
        ...Object.entries(realModel).flatMap(([name, value]) => [`--${name}`, value]),
      ]
    : ngrams
      ? ['ngram-server.ts', '--answers', ngrams]
      : ['provider-standin.ts']
  const process = processes.start({
    name: 'provider-standin',
    args: [
      ...[join(import.meta.dirname, String(file)), ...args, '--port', String(port)],
      ...(script === undefined ? [] : ['--script', resolve(script)]),
    ],
  })
  const waiting = { timeoutMs: 60_000, pollMs: 25, signal }
  const url = await untilReady(
    process,
    waiting,
    async () => /\bat (http:\S+)\s/.exec(await readFile(process.logFile, 'utf8'))?.[1],
  )
  return { url, process }
}
