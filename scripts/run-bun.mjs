import { withoutProxyHere } from './no-proxy.mjs'
import { runProcess } from './run-process.mjs'

/** Runs Bun with only this environment: without the folder's .env, and without a proxy for this machine's own servers. */
export const runBun = (bun, args, options = {}) =>
  runProcess(bun, ['--no-env-file', ...args], {
    ...options,
    env: {
      ...withoutProxyHere(options.env ?? process.env),
      // Bun and vitest on Bun resolve `vitest` differently, and would read each other's cached files.
      BUN_RUNTIME_TRANSPILER_CACHE_PATH: '0',
    },
  })
