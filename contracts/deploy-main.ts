import { createInterface } from 'node:readline/promises'
import { shortMessageOf } from '../lib/chain/chain-error.ts'
import { explainError } from '../lib/host/explain-error.ts'
import { printableLine } from '../lib/printable.ts'
import { SvcError } from '../lib/svc-error.ts'
import { runDeploy } from './deploy-command.ts'
import { deployHelp, parseDeployCommand } from './deploy-options.ts'

const interrupted = new SvcError('interrupted', 'interrupted', {
  hint: 'What was sent is written down beside the address file: start again with the same options to continue.',
})

const ask = async (question: string): Promise<boolean> => {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await lines.question(question)).trim())
  } catch {
    // Ctrl-C and Ctrl-D reach the question and not the process.
    throw interrupted
  } finally {
    lines.close()
  }
}

const main = async (args: readonly string[]): Promise<number> => {
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => stop.abort(interrupted))
  }
  try {
    const command = parseDeployCommand(args, process.env)
    if (command === undefined) {
      console.log(deployHelp)
      return 0
    }
    const isInteractive = process.stdin.isTTY && process.stderr.isTTY && !command.isJson
    await runDeploy(command, {
      environment: process.env,
      print: (text) => console.log(text),
      say: (line) => console.error(line),
      confirm: isInteractive ? ask : undefined,
      signal: stop.signal,
    })
    return 0
  } catch (error) {
    if (!(error instanceof SvcError)) {
      // The library's full message contains the RPC's address, which may contain a key.
      console.error(`error: ${printableLine(shortMessageOf(error))}`)
      return 1
    }
    const { message, hint } = explainError(error)
    console.error(`error: ${message} (${error.code})\n${hint}`)
    if (error === interrupted) return 130
    return error.code === 'usage' ? 2 : 1
  }
}

// Abandoned polls of the chain would keep the process alive for minutes.
process.exit(await main(process.argv.slice(2)))
