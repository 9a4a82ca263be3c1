import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

// Processes of their own, as in a container. With users of its own, too, which lets anybody do that.
const asFirst = ['--map-root-user', '--pid', '--fork', '--mount-proc', '--kill-child'] as const

/** Says why no program can be the first process here, and undefined when one can. In CI one has to. */
export function whyNotFirst(): string | undefined {
  if (spawnSync('unshare', [...asFirst, 'true']).status === 0) return undefined
  const why = 'needs process namespaces (unshare of util-linux)'
  if (process.env.CI === 'true') throw new Error(why)
  return why
}

/** Starts a script of this runtime as the first process of a container. */
export const spawnFirst = (args: readonly string[], options: SpawnOptions): ChildProcess =>
  spawn('unshare', [...asFirst, process.execPath, ...args], options)

/** Sends a signal to a process that `spawnFirst` started. */
export function signalFirst({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  process.kill(Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')), signal)
}
