import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describeMissingBun, findBun, root } from './bun-binary.mjs'
import { runProcess } from './run-process.mjs'

const isCurrent = () => {
  const installed = join(root, 'node_modules', '.package-lock.json')
  const wanted = join(root, 'package-lock.json')
  if (!existsSync(installed)) return false
  return statSync(installed).mtimeMs >= statSync(wanted).mtimeMs
}

const npmCi = () => {
  console.error('Installing the packages of package-lock.json (npm ci) ...')
  // The npm that runs this script is the one to install with; without it, the one on the path.
  const cli = process.env.npm_execpath
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error']
  const options = {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, npm_config_json: '' },
  }
  return cli?.endsWith('.js')
    ? runProcess(process.execPath, [cli, ...args], options)
    : runProcess('npm', args, { ...options, shell: process.platform === 'win32' })
}

/** Installs the packages if they are missing or older than package-lock.json; resolves with the path of the Bun binary. */
export const ensureSetup = async () => {
  if (!isCurrent()) {
    const code = await npmCi()
    if (code !== 0) {
      console.error(`npm ci failed (exit code ${code}); its output above says why.`)
      process.exit(code)
    }
  }
  const bun = findBun()
  if (bun === undefined) {
    console.error(describeMissingBun())
    process.exit(1)
  }
  return bun
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const bun = await ensureSetup()
  console.error(`Ready: ${bun}`)
}
