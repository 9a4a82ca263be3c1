// Runs a TypeScript file with the project's own Bun: node scripts/bun.mjs FILE [ARGS...]

import { runBun } from './run-bun.mjs'
import { ensureSetup } from './setup.mjs'

const [file, ...args] = process.argv.slice(2)
if (file === undefined) {
  console.error('Usage: node scripts/bun.mjs FILE [ARGS...]')
  process.exit(2)
}
// Bun swallows a `--` directly after the file.
const kept = args[0] === '--' ? ['--', ...args] : args
process.exitCode = await runBun(await ensureSetup(), [file, ...kept], {
  // The demo ends when this process does.
  env: { ...process.env, SVC_STOP_WITH_PARENT: '1' },
})
