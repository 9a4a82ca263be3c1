import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runCommand } from '../../../lib/host/run-command.ts'

const folder = fileURLToPath(new URL('../../../client/python/', import.meta.url))
const tools = (await import(new URL('../../../scripts/tools.mjs', import.meta.url).href)) as {
  readonly pythonClient: () => { readonly path: string }
}
const { path } = tools.pythonClient()

const missing = existsSync(path)
  ? undefined
  : 'the environment of the client in Python is not there (node scripts/install-tools.mjs makes it)'
if (missing !== undefined && process.env.CI === 'true') throw new Error(missing)

/** Where there is no Python. */
export const cannot = missing !== undefined

/** For the name of a test: why it is skipped, if it is. */
export const skipped = missing === undefined ? '' : ` (skipped: ${missing})`

/** Runs Python with the client's packages and sources. */
export const runPython = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runCommand([path, '-B', ...args], {
    cwd: folder,
    timeoutMs: 240_000,
    env: { ...process.env, PYTHONPATH: 'src', PYTHONUTF8: '1', ...env },
  })
