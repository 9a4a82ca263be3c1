// Runs a TypeScript file with the project's own Bun: node scripts/bun.mjs FILE [ARGS...]

import { runProcess } from './run-process.mjs'
import { ensureSetup } from './setup.mjs'

const [file, ...args] = process.argv.slice(2)
if (file === undefined) {
  console.error('Usage: node scripts/bun.mjs FILE [ARGS...]')
  process.exit(2)
}
process.exitCode = await runProcess(await ensureSetup(), [file, ...args])
