import { endBySignals } from '../../lib/host/end-by-signals.ts'
import { command, type Program } from '../../lib/host/program/program.ts'
import { runHere } from '../../lib/host/program/run-program.ts'
import type { Listen } from './listening.ts'
import { readFileText } from './machine.ts'
import type { Environment } from './serve.ts'
import { describeSettings, parseSettings } from './settings.ts'

/** Runs the command line of this process with the runtime's way to listen, and exits. */
export async function runIcl(
  listen: Listen,
  environment: Environment = process.env,
): Promise<never> {
  endBySignals()
  const [first, ...args] = process.argv.slice(2)
  if (first === 'admin') {
    const { adminProgram } = await import('./admin.ts')
    return runHere(adminProgram, (lines) => ({ ...lines, environment }), { args })
  }
  const run = async () => {
    const { serve } = await import('./serve.ts')
    await serve(parseSettings(environment, readFileText), environment, listen)
  }
  return runHere(icl, () => run, { isService: true })
}

const icl: Program<() => Promise<void>> = {
  typed: 'npm run icl --',
  notes: `Environment:\n\n${describeSettings()}`,
  commands: [
    command({
      name: '',
      summary:
        'Starts the inference coordination service. `admin --help` lists the commands of its operator.',
      run: async (_, run: () => Promise<void>) => void (await run()),
    }),
  ],
}
