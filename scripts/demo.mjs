// npm run demo -- "PROMPT": runs one prompt through the whole service on this machine.
import { join } from 'node:path'
import { root } from './bun-binary.mjs'
import { runBun } from './run-bun.mjs'
import { ensureSetup } from './setup.mjs'

const bun = await ensureSetup()
process.exitCode = await runBun(bun, [join(root, 'demo', 'main.ts'), ...process.argv.slice(2)], {
  env: { ...process.env, SVC_STOP_WITH_PARENT: '1' },
})
