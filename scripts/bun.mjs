// Runs a TypeScript file with the project's own Bun: node scripts/bun.mjs FILE [ARGS...]

import { runBun } from './run-bun.mjs'
import { ensureSetup } from './setup.mjs'

const [file, ...args] = process.argv.slice(2)
if (file === undefined) {
  console.error('Usage: node scripts/bun.mjs FILE [ARGS...]')
  process.exit(2)
}
process.exitCode = await runBun(await ensureSetup(), [file, ...args])
