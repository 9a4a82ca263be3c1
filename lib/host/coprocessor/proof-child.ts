/*
 * Problem: a proof of encryption takes ten seconds of computing and much memory, and WebAssembly does not give memory back. In the daemon's
 * own process it would delay heartbeats, and a crash in it would end the daemon. Its input is both halves of a key.
 *
 * Idea: each piece of work runs in its own process, which is this very program with another command. The input goes as one frame through
 * the pipe to stdin, and the answer comes back as one frame through stdout. Then the process is killed.
 *
 * Invariants:
 * - Secrets go through the pipe alone: no arguments, an empty environment (on Windows the system's folder), and a working directory without
 *   settings of a runtime.
 * - The process has a lower priority than the daemon, where the system allows it.
 * - It ends with the promise: on success, on failure, and when the signal aborts.
 * - An answer must fit the schema of its kind of work.
 *
 * Failure cases: the process cannot be started, or ends without an answer (ProofProcessDied; process-prover.ts starts it again). It reports
 * that the work cannot be done, or its answer is invalid (ProofWorkFailed). A damaged frame rejects as well. Errors of stdin are ignored,
 * because the end of the process says more.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { getPriority, setPriority } from 'node:os'
import { parse } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { sourceHash } from '../version.ts'
import { createFrameReader, frameOf } from './proof-frame.ts'
import { outputSchemas, type Work } from './proof-work.ts'

// node/executable/entry.ts knows this command as well. It is not for operators.
const proofCommand = 'proof-process'

/** A proof process ended without an answer. */
export class ProofProcessDied extends Error {
  override readonly name = 'ProofProcessDied'
}

/** The work cannot be done; has the worker's message. */
export class ProofWorkFailed extends Error {
  override readonly name = 'ProofWorkFailed'
}

const Answer = z.strictObject({ output: z.unknown().optional(), failure: z.string().optional() })

/** A program and its arguments. */
export type ProofCommand = readonly [string, ...string[]]

/** This program, started as a proof process. */
const thisProgram = (): ProofCommand =>
  sourceHash === undefined
    ? [
        process.execPath,
        '--no-env-file',
        fileURLToPath(new URL('./proof-process.ts', import.meta.url)),
      ]
    : [process.execPath, proofCommand]

const start = ([program, ...args]: ProofCommand): ChildProcess =>
  spawn(program, args, {
    // No secrets to inherit, and no variables that change how the program runs.
    env: process.platform === 'win32' ? { SystemRoot: process.env.SystemRoot } : {},
    // A folder without settings of a runtime.
    cwd: parse(process.execPath).root,
    stdio: ['pipe', 'pipe', 'ignore'],
    windowsHide: true,
  })

// A third of the processor under contention: heartbeats get enough, and proofs still end in time.
const niceness = 5
const leastPriority = 19

/** Lowers a process's priority, because heartbeats come first. */
function stepBack(pid: number): void {
  try {
    setPriority(pid, Math.min(getPriority() + niceness, leastPriority))
  } catch {
    // Without the lower priority it still works.
  }
}

function outputOf<Kind extends keyof Work>(kind: Kind, message: unknown): Work[Kind]['output'] {
  const { data: answer } = Answer.safeParse(message)
  if (answer?.failure !== undefined) throw new ProofWorkFailed(answer.failure)
  const output = outputSchemas[kind].safeParse(answer?.output)
  if (output.success) return output.data
  throw new ProofWorkFailed('the proof process gave an answer that is none')
}

/** The program of a proof process, and a callback for its process id. */
export type ProofProcessOptions = {
  readonly onStart?: ((pid: number) => void) | undefined
  /** This program when left out. */
  readonly command?: ProofCommand | undefined
}

/** Runs one piece of work in its own process, and kills it at the end or when `signal` aborts. Throws ProofWorkFailed or ProofProcessDied. */
export function inProofProcess<Kind extends keyof Work>(
  kind: Kind,
  input: Work[Kind]['input'],
  signal: AbortSignal,
  { onStart = () => {}, command = thisProgram() }: ProofProcessOptions = {},
): Promise<Work[Kind]['output']> {
  signal.throwIfAborted()
  const child = start(command)
  const { promise, resolve, reject } = Promise.withResolvers<Work[Kind]['output']>()
  const read = createFrameReader()
  const take = (chunk: Uint8Array) => {
    try {
      const frame = read(chunk)
      if (frame !== undefined) resolve(outputOf(kind, frame.message))
    } catch (error) {
      reject(error)
    }
  }
  const died = (how: string) => reject(new ProofProcessDied(how))
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  child.stdout?.on('data', take)
  child.on('error', ({ message }) => died(`The proof process cannot be started: ${message}`))
  // Not `exit`, at which an answer may still be in the pipe.
  child.once('close', (code, signalName) => died(`The proof process ended (${signalName ?? code})`))
  // A child that dies also closes this end. The handlers above report its death.
  child.stdin?.on('error', () => {})
  if (child.pid !== undefined) {
    stepBack(child.pid)
    onStart(child.pid)
    for (const part of frameOf({ kind, input })) child.stdin?.write(part)
  }
  return promise.finally(() => {
    signal.removeEventListener('abort', abort)
    child.kill('SIGKILL')
  })
}
