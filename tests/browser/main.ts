import { join } from 'node:path'
import { z } from 'zod'
import { OneOf, option } from '../../lib/host/program/option.ts'
import { runOnly } from '../run-program.ts'

await runOnly('npm run test:browser --', {
  summary: 'Run the tests in a browser alone.',
  options: z.object({
    fhe: option(
      OneOf(['mock', 'real']).default('mock'),
      'MODE',
      'real: instead one prompt with a real proof, which takes minutes',
    ),
  }),
  run: async ({ fhe }) => {
    const args =
      fhe === 'real'
        ? [join(import.meta.dirname, 'playground-real.ts')]
        : ['test', '--timeout=60000', './tests/browser']
    const child = Bun.spawn([process.execPath, ...args], {
      cwd: join(import.meta.dirname, '..', '..'),
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    return await child.exited
  },
})
