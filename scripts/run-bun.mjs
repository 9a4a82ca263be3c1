import { withoutProxyHere } from './no-proxy.mjs'
import { runProcess } from './run-process.mjs'

/** Runs Bun on this machine's own servers and with this environment alone: without a proxy and without the folder's .env. */
export const runBun = (bun, args, options = {}) =>
  runProcess(bun, ['--no-env-file', ...args], {
    ...options,
    env: {
      ...withoutProxyHere(options.env ?? process.env),
      // Bun and vitest on Bun resolve `vitest` differently, and would read one another's cached files.
      BUN_RUNTIME_TRANSPILER_CACHE_PATH: '0',
    },
  })
