import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { type DeployTerminal, deployProgram } from '../../../contracts/deploy-command.ts'
import { runProgram } from '../../../lib/host/program/run-program.ts'

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

/** Runs `contracts:deploy` in this process to its end. */
export async function deployBy(
  args: readonly string[],
  environment: Record<string, string> = {},
  terminal: Partial<DeployTerminal> = {},
): Promise<Ended> {
  const [out, err] = [[] as string[], [] as string[]]
  const { signal } = new AbortController()
  const code = await runProgram(deployProgram, args, {
    print: (line) => void out.push(line),
    warn: (line) => void err.push(line),
    context: (lines) => ({ ...lines, environment, confirm: undefined, signal, ...terminal }),
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}
