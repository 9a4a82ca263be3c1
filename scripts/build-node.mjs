// npm run build:node [-- --all]: builds svc-node as one executable.
import { join } from 'node:path'
import { root } from './bun-binary.mjs'
import { runBun } from './run-bun.mjs'
import { ensureSetup } from './setup.mjs'

const bun = await ensureSetup()
process.exitCode = await runBun(bun, [
  join(root, 'scripts', 'build-node', 'main.ts'),
  ...process.argv.slice(2),
])
