import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { startGuard } from './guard.ts'

/** A started process. */
export type Running = {
  readonly name: string
  readonly pid: number
  /** The file with its output. */
  readonly logFile: string
  /** Resolves when it has ended, with the exit code or the signal. */
  readonly exited: Promise<number | string>
  readonly hasExited: () => boolean
  readonly kill: (signal: NodeJS.Signals) => void
}

/** A process to start. */
type Command = {
  readonly name: string
  /** The executable. By default this Bun, whose first argument is then a file to run. */
  readonly program?: string | undefined
  readonly args: readonly string[]
  /** Its whole environment, besides `inheritedVariables`. */
  readonly env?: Readonly<Record<string, string>>
}

/** Starts processes, and ends all of them when this process ends in any way. */
export type Processes = {
  readonly start: (command: Command) => Running
  /** Runs a command to its end and resolves with its stdout. Throws with the end of its output. */
  readonly run: (command: Command, signal?: AbortSignal) => Promise<string>
  /** Ends the given processes, or all: SIGTERM, then SIGKILL after `graceMs`. */
  readonly stop: (which?: readonly Running[], graceMs?: number) => Promise<void>
  /** Ends all processes and the guard. The caller must not start any after it. */
  readonly close: () => Promise<void>
}

const inheritedVariables = [
  'PATH',
  'TMPDIR',
  'LANG',
  'TZ',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'http_proxy',
  'https_proxy',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SystemRoot',
]

// A proxy cannot reach the demo's processes on this machine.
const hereByName = '127.0.0.1,localhost'
const defaultGraceMs = 5_000
const lastLines = 12

const environment = (home: string, extra: Command['env']): Record<string, string> => {
  const inherited = inheritedVariables.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  const { no_proxy, NO_PROXY } = { ...process.env, ...extra }
  const direct = [no_proxy, NO_PROXY, hereByName].filter((hosts) => hosts).join(',')
  return {
    ...Object.fromEntries(inherited),
    HOME: home,
    USERPROFILE: home,
    ...extra,
    NO_PROXY: direct,
    no_proxy: direct,
  }
}

/** Returns the last lines of a log file, without colours. */
export async function lastLogLines(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return stripVTControlCharacters(text).trimEnd().split('\n').slice(-lastLines).join('\n')
}

/** Makes the manager of processes whose files are in `folder`. The guard removes the folder if this process is killed. */
export function createProcesses(folder: string): Processes {
  const guard = startGuard(folder)
  const all = new Set<Running>()

  const launch = (
    command: Command,
    capture: boolean,
  ): { child: ChildProcess; running: Running } => {
    const logFile = join(folder, `${command.name}.log`)
    const log = openSync(logFile, 'a')
    // Each process leads its own group, so that Ctrl-C in a terminal reaches only the demo, which then ends them in order.
    const { program = process.execPath } = command
    const args = command.program === undefined ? ['--no-env-file', ...command.args] : command.args
    const child = spawn(program, args, {
      cwd: folder,
      detached: true,
      stdio: ['ignore', capture ? 'pipe' : log, log],
      env: environment(folder, command.env),
    })
    closeSync(log)
    const running = describeChild(command.name, child, logFile)
    guard.add(running.pid)
    all.add(running)
    void running.exited.then(() => {
      guard.remove(running.pid)
      all.delete(running)
    })
    return { child, running }
  }

  const stop = async (which: readonly Running[] = [...all], graceMs = defaultGraceMs) => {
    for (const running of which) running.kill('SIGTERM')
    const ended = Promise.all(which.map(({ exited }) => exited))
    const timer = setTimeout(() => {
      for (const running of which) running.kill('SIGKILL')
    }, graceMs)
    await ended
    clearTimeout(timer)
  }

  return {
    start: (command) => launch(command, false).running,
    run: async (command, signal) => {
      const { child, running } = launch(command, true)
      const abort = () => running.kill('SIGKILL')
      signal?.addEventListener('abort', abort, { once: true })
      let output = ''
      child.stdout?.on('data', (chunk) => {
        output += chunk
      })
      const code = await running.exited
      signal?.removeEventListener('abort', abort)
      signal?.throwIfAborted()
      if (code === 0) return output
      const words = await lastLogLines(running.logFile)
      throw new Error(`${command.name} ended with ${code}:\n${output.trim()}\n${words}`)
    },
    stop,
    close: async () => {
      await stop()
      guard.rest()
    },
  }
}

function describeChild(name: string, child: ChildProcess, logFile: string): Running {
  let over = false
  const exited = new Promise<number | string>((resolve) => {
    const end = (how: number | string) => {
      over = true
      resolve(how)
    }
    child.once('error', (error) => end(error.message))
    child.once('close', (code, signal) => end(code ?? signal ?? 'an unknown cause'))
  })
  const pid = child.pid ?? 0
  const kill = (signal: NodeJS.Signals) => {
    if (over || pid === 0) return
    try {
      if (process.platform === 'win32') child.kill(signal)
      else process.kill(-pid, signal)
    } catch {
      // The process has ended just now.
    }
  }
  return { name, pid, logFile, exited, hasExited: () => over, kill }
}
