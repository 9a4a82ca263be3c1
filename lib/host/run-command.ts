import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'

/** How a program ended; `code` is null when a signal or the time limit ended it. */
export type Outcome = {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end, or until `timeoutMs` or `signal` ends it; rejects when it cannot be started. */
export async function runCommand(
  command: readonly [string, ...string[]],
  options: {
    readonly timeoutMs: number
    readonly cwd?: string
    readonly env?: Readonly<Record<string, string | undefined>>
    readonly signal?: AbortSignal | undefined
  },
): Promise<Outcome> {
  const { timeoutMs, cwd, env, signal } = options
  const [program, ...args] = command
  const child = spawn(program, args, {
    cwd,
    env: env && { ...env },
    signal,
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'pipe', 'pipe'],
    // On Windows npm is a script, which only the shell starts.
    shell: process.platform === 'win32' && program === 'npm',
  })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  return { code, stdout, stderr }
}
