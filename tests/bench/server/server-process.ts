import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { type IclRuntime, programOf } from '../../../demo/runtime-programs.ts'
import type { ServerOptions } from './options.ts'

const startMs = 60_000
const root = resolve(import.meta.dirname, '..', '..', '..')
const entry = join(import.meta.dirname, 'main.ts')

/** A server in a process of its own. */
export type ServerProcess = Awaited<ReturnType<typeof startServer>>

const argumentsOf = (runtime: IclRuntime, flags: readonly string[]): string[] => {
  switch (runtime) {
    case 'bun':
      return [...flags, '--no-env-file', entry]
    case 'node':
      return [...flags, '--disable-warning=ExperimentalWarning', entry]
    default:
      return ['run', '--allow-all', '--no-prompt', ...flags, entry]
  }
}

/** Starts a server and waits until it listens; `flags` are the runtime's own. */
export async function startServer(
  options: ServerOptions,
  runtime: IclRuntime = 'bun',
  flags: readonly string[] = [],
) {
  const program = programOf(runtime)
  if (program === undefined) throw new Error(`npm has not installed ${runtime}`)
  const child = spawn(program, argumentsOf(runtime, flags), {
    cwd: root,
    // It ends with its input, and so with this process.
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      NO_PROXY: '127.0.0.1,localhost',
      BENCH_SERVER: JSON.stringify(options),
    },
  })
  let complaints = ''
  child.stderr.on('data', (chunk: Buffer) => {
    complaints = (complaints + chunk).slice(-4_000)
  })
  child.stdin.on('error', () => {})
  const exited = once(child, 'exit')
  const waiting = new Map<number, ReturnType<typeof Promise.withResolvers<unknown>>>()
  const started = Promise.withResolvers<number>()
  createInterface(child.stdout).on('line', (line) => {
    const said = JSON.parse(line)
    if (said.port !== undefined) return started.resolve(said.port)
    const asked = waiting.get(said.id)
    waiting.delete(said.id)
    if (said.error === undefined) asked?.resolve(said.answer)
    else asked?.reject(new Error(said.error))
  })
  const died = exited.then(([code]) => {
    const error = new Error(
      `The ${options.kind} server on ${runtime} ended (${code}): ${complaints}`,
    )
    for (const asked of waiting.values()) asked.reject(error)
    started.reject(error)
  })
  const timer = setTimeout(() => started.reject(new Error('The server does not start')), startMs)
  let lastId = 0
  const end = async (signal?: 'SIGKILL') => {
    if (signal) child.kill(signal)
    else child.stdin.end()
    const cutOff = setTimeout(() => child.kill('SIGKILL'), 10_000)
    await died
    clearTimeout(cutOff)
  }
  try {
    const port = await started.promise
    return {
      port,
      /** The end of what it logged. */
      log: () => complaints,
      call: <T>(name: string, input: unknown = {}) => {
        const id = ++lastId
        const asked = Promise.withResolvers<unknown>()
        waiting.set(id, asked)
        child.stdin.write(`${JSON.stringify({ id, name, input })}\n`)
        return asked.promise as Promise<T>
      },
      /** kill -9. */
      kill: () => end('SIGKILL'),
      stop: () => end(),
    }
  } catch (error) {
    await end('SIGKILL')
    throw error
  } finally {
    clearTimeout(timer)
  }
}
