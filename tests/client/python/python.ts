import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runCommand } from '../../../lib/host/run-command.ts'

const root = new URL('../../../', import.meta.url)
const tools = (await import(new URL('scripts/tools.mjs', root).href)) as {
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

/** Python with the packages that the tests need. */
export const python: string = path

/** Runs Python with the sources of a package: of the client, if no other is named. */
export const runPython = (
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  home: 'client/python' | 'node/python' = 'client/python',
) =>
  runCommand([path, '-B', ...args], {
    cwd: fileURLToPath(new URL(home, root)),
    timeoutMs: 240_000,
    env: { ...process.env, PYTHONPATH: 'src', PYTHONUTF8: '1', ...env },
  })
