// npm run test:browser [-- --fhe real]: the tests in a browser alone, or one run with a real proof, which takes minutes.
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { fhe: { type: 'string', default: 'mock' } } })
if (values.fhe !== 'mock' && values.fhe !== 'real') throw new Error('--fhe takes mock or real')
const args =
  values.fhe === 'real'
    ? [join(import.meta.dirname, 'playground-real.ts')]
    : ['test', '--timeout=60000', './tests/browser']
const child = Bun.spawn([process.execPath, ...args], {
  cwd: join(import.meta.dirname, '..', '..'),
  stdio: ['ignore', 'inherit', 'inherit'],
})
process.exit(await child.exited)
