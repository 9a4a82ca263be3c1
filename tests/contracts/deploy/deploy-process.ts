import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

const main = join(import.meta.dirname, '../../../contracts/deploy-main.ts')
const lineLimitMs = 60_000

export type Ended = { readonly code: number | null; readonly out: string; readonly err: string }

export type DeployProcess = {
  readonly child: ChildProcess
  /** Resolves once standard error holds the text; rejects when the process ends without it. */
  waitFor(text: string): Promise<void>
  readonly ended: Promise<Ended>
}

/** Starts `contracts:deploy` as a process of its own, with nothing of this process's settings. */
export const startDeploy = (
  args: readonly string[],
  environment: Record<string, string> = {},
): DeployProcess => {
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...environment }
  const child = spawn(process.execPath, [main, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const text = { out: '', err: '' }
  const waiting = new Set<() => void>()
  child.stdout.on('data', (chunk) => {
    text.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    text.err += chunk
    for (const look of waiting) look()
  })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...text }))
  })
  const waitFor = (wanted: string) =>
    new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => finish(false), lineLimitMs)
      const finish = (found: boolean) => {
        clearTimeout(late)
        waiting.delete(look)
        if (found) resolve()
        else reject(new Error(`"${wanted}" did not come: ${text.err}`))
      }
      const look = () => {
        if (text.err.includes(wanted)) finish(true)
      }
      waiting.add(look)
      look()
      void ended.then(
        () => finish(text.err.includes(wanted)),
        () => finish(false),
      )
    })
  return { child, waitFor, ended }
}

/** Runs `contracts:deploy` to its end. */
export const deployBy = (
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<Ended> => startDeploy(args, environment).ended
