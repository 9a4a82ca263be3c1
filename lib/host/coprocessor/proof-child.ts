/*
 * Problem: a proof of encryption takes ten seconds of computing and much memory, and WebAssembly does not give
 * memory back. In the daemon's own process it would hold up heartbeats, and a crash in it would end the daemon.
 * Its input is both halves of a key.
 *
 * Idea: each piece of work has a process of its own. It is this very program with another command. The input goes
 * in as one frame through the pipe to stdin, the answer comes back as one frame through stdout, and then the
 * process is killed.
 *
 * Invariants:
 * - Secrets go through the pipe alone: no arguments, an empty environment (on Windows the system's folder), and a
 *   working directory without settings of a runtime.
 * - The process runs with a lower priority than the daemon, where the system allows it.
 * - It ends with the promise: on success, on failure, and when the signal aborts.
 * - An answer counts only if it fits the schema of its kind of work.
 *
 * Failure cases: the process cannot be started, or ends without an answer (ProofProcessDied; process-prover.ts
 * starts it again); it says that the work cannot be done, or answers nonsense (ProofWorkFailed). Frames that are
 * damaged reject as well. The pipe's own error on stdin is ignored, because the end of the process tells more.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { getPriority, setPriority } from 'node:os'
import { parse } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { sourceHash } from '../version.ts'
import { createFrameReader, frameOf } from './proof-frame.ts'
import { outputSchemas, type Work } from './proof-work.ts'

// Known to node/executable/entry.ts as well; no operator has a use for it.
const proofCommand = 'proof-process'

/** A proof process ended without an answer. */
export class ProofProcessDied extends Error {
  override readonly name = 'ProofProcessDied'
}

/** Work that cannot be done, in the worker's words. */
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
    // Nothing secret to inherit, and nothing that would make another program of it.
    env: process.platform === 'win32' ? { SystemRoot: process.env.SystemRoot } : {},
    // Where no settings of a runtime lie about.
    cwd: parse(process.execPath).root,
    stdio: ['pipe', 'pipe', 'ignore'],
    windowsHide: true,
  })

// A third of the processor where others want it as well: enough for heartbeats, and proofs still end in time.
const niceness = 5
const leastPriority = 19

/** Heartbeats come first. */
function stepBack(pid: number): void {
  try {
    setPriority(pid, Math.min(getPriority() + niceness, leastPriority))
  } catch {
    // It works without, only less politely.
  }
}

function outputOf<Kind extends keyof Work>(kind: Kind, message: unknown): Work[Kind]['output'] {
  const { data: answer } = Answer.safeParse(message)
  if (answer?.failure !== undefined) throw new ProofWorkFailed(answer.failure)
  const output = outputSchemas[kind].safeParse(answer?.output)
  if (output.success) return output.data
  throw new ProofWorkFailed('the proof process gave an answer that is none')
}

/** Which program a proof process is, and who hears of its process id. */
export type ProofProcessOptions = {
  readonly onStart?: ((pid: number) => void) | undefined
  /** This program when left out. */
  readonly command?: ProofCommand | undefined
}

/**
 * Does one piece of work in a process of its own, which gives all its memory back at the end; throws ProofWorkFailed or
 * ProofProcessDied. The process is killed when `signal` aborts.
 */
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
  // Not `exit`: an answer may still be in the pipe then.
  child.once('close', (code, signalName) => died(`The proof process ended (${signalName ?? code})`))
  // A child that dies closes this end too; that it died is told above.
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
