import { endBySignals } from '../../lib/host/end-by-signals.ts'
import { errorLines } from '../../lib/host/explain-error.ts'
import { fitHelp } from '../../lib/host/fit-help.ts'
import { withStatusColour } from '../../lib/host/status-colour.ts'
import type { Listen } from './listening.ts'
import { readFileText } from './machine.ts'
import { type Environment, serve } from './serve.ts'
import { describeSettings, parseSettings } from './settings.ts'

/** Runs the command line of this process with the runtime's way to listen, and exits. */
export async function runIcl(
  listen: Listen,
  environment: Environment = process.env,
): Promise<never> {
  endBySignals()
  process.exit(await main(process.argv.slice(2), listen, environment))
}

const inColour = (stream: NodeJS.WriteStream, write: (line: string) => void) => {
  const colour = withStatusColour(stream, process.env)
  return (line: string): void => write(colour(line))
}

async function main(
  args: readonly string[],
  listen: Listen,
  environment: Environment,
): Promise<number> {
  if (args[0] === 'admin') {
    const { runAdmin } = await import('./admin.ts')
    return await runAdmin(args.slice(1), {
      environment,
      print: inColour(process.stdout, console.log),
      complain: inColour(process.stderr, console.error),
    })
  }
  if (args.includes('--help')) {
    console.log(
      'Starts the inference coordination service. `admin --help` lists the commands of its operator.',
    )
    console.log(`Environment:\n\n${fitHelp(describeSettings())}`)
    return 0
  }
  if (args.length > 0) {
    console.error(`error: ${args[0]} is not an option\nhint: --help lists the settings.`)
    return 2
  }
  try {
    await serve(parseSettings(environment, readFileText), environment, listen)
    return 0
  } catch (error) {
    for (const line of errorLines(error)) console.error(line)
    return 1
  }
}
