import { errorMessage } from '../../lib/error-message.ts'
import { exitCodes } from '../../lib/host/exit-code.ts'
import { SvcError } from '../../lib/svc-error.ts'

/** Runs this process as a command: parses its options, where undefined means help, and exits with the result of `run`. */
export async function runCommand<Options>(
  parse: (args: readonly string[]) => Options | undefined,
  usage: string,
  run: (options: Options) => Promise<number>,
): Promise<void> {
  // An orderly exit removes half-built files.
  process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143))
  try {
    const options = parse(process.argv.slice(2))
    if (options) process.exitCode = await run(options)
    else process.stdout.write(usage)
  } catch (error) {
    process.stderr.write(`error: ${errorMessage(error)}\n`)
    const isKnown = error instanceof SvcError
    if (isKnown) process.stderr.write(`hint: ${error.hint}\n`)
    process.exitCode =
      isKnown && error.code === 'usage' ? exitCodes.usage : exitCodes.operatorMustAct
  }
}
