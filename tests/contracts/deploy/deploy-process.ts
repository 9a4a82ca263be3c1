import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type DeployTerminal, deployProgram } from '../../../contracts/deploy-command.ts'
import { runProgram } from '../../../lib/host/program/run-program.ts'
import { systemClock } from '../../../lib/system.ts'

const main = join(import.meta.dirname, '../../../contracts/deploy-main.ts')

/** Starts `contracts:deploy` as a process of its own, with nothing of this process's settings. */
export function startDeploy(args: readonly string[], environment: Record<string, string>) {
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...environment }
  const child = spawn(process.execPath, [main, ...args], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let err = ''
  child.stderr.on('data', (chunk) => {
    err += chunk
  })
  const closed = once(child, 'close')
  return {
    kill: async (signal: NodeJS.Signals) => {
      child.kill(signal)
      await closed
      return { code: child.exitCode, err }
    },
    says: async (text: string) => {
      while (!err.includes(text)) {
        if (child.exitCode !== null) throw new Error(`"${text}" did not come: ${err}`)
        await systemClock.sleep(20)
      }
    },
  }
}

/** Runs `contracts:deploy` in this process to its end. `onLine` gets each line of its progress. */
export async function deployBy(
  args: readonly string[],
  environment: Record<string, string> = {},
  { onLine, ...terminal }: Partial<DeployTerminal> & { onLine?: (line: string) => void } = {},
) {
  const [out, err] = [[] as string[], [] as string[]]
  const { signal } = new AbortController()
  const code = await runProgram(deployProgram, args, {
    print: (line) => void out.push(line),
    warn: (line) => {
      err.push(line)
      onLine?.(line)
    },
    context: (lines) => ({ ...lines, environment, confirm: undefined, signal, ...terminal }),
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

/** Stops `contracts:deploy` as soon as its first transaction is sent. */
export const leaveSent = (args: readonly string[], environment: Record<string, string>) => {
  const stop = new AbortController()
  const onLine = (line: string) => {
    if (line.startsWith('NodeRegistry: sent')) stop.abort(new Error('stopped'))
  }
  return deployBy(args, environment, { signal: stop.signal, onLine })
}
