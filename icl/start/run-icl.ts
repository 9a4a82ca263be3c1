import { endBySignals } from '../../lib/host/end-by-signals.ts'
import { runHere, runOnly } from '../../lib/host/program/run-program.ts'
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
  return runOnly(
    'npm run icl --',
    {
      summary:
        'Starts the inference coordination service. `admin --help` lists the commands of its operator.',
      notes: `Environment:\n\n${describeSettings()}`,
      run: async () => {
        const { serve } = await import('./serve.ts')
        await serve(parseSettings(environment, readFileText), environment, listen)
      },
    },
    { isService: true },
  )
}
