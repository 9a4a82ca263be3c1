import { PassThrough } from 'node:stream'
import type { ReadStream, WriteStream } from 'node:tty'
import { runProgram } from '../../lib/host/program/run-program.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { svcNode } from '../../node/command-table.ts'
import { trimmed } from '../../node/environment.ts'

/** Runs a command of svc-node as its process does, away from a terminal, but in this process: the start of one takes longer than most commands. */
export async function runHere(args: readonly string[], env: Readonly<Record<string, string>>) {
  const [out, err] = [[] as string[], [] as string[]]
  const code = await runProgram(svcNode, args, {
    print: (line) => void out.push(`${line}\n`),
    warn: (line) => void err.push(`${line}\n`),
    context: (lines) => ({
      ...lines,
      environment: trimmed(env),
      terminal: {
        input: new PassThrough() as unknown as ReadStream,
        output: new PassThrough() as unknown as WriteStream,
      },
      fetch: (request) => fetch(request),
      clock: systemClock,
      random: systemRandom,
    }),
  })
  return { code, out: out.join(''), err: err.join('') }
}
