import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describeMissingBun, findBun, linkBun, root } from './bun-binary.mjs'
import { isInstalled, isLinked, markInstalled } from './installed.mjs'
import { runBun } from './run-bun.mjs'
import { runProcess } from './run-process.mjs'
import { lockPathOf, withLock } from './setup-lock.mjs'

const npmCi = () => {
  console.error('Installing the packages of package-lock.json (npm ci) ...')
  // Uses the npm that runs this script, else the one on the path.
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

// What the ICL serves at /docs comes from a package.
const buildDocs = () => {
  const bun = findBun()
  const file = join(root, 'web', 'build-docs.ts')
  return bun === undefined ? 0 : runBun(bun, [file], { cwd: root, stdio: ['ignore', 2, 2] })
}

/** Installs unless another command has just done so. Returns the exit code. */
const install = async () => {
  if (isInstalled(root)) return 0
  const code = await npmCi()
  if (code !== 0) {
    console.error(`npm ci failed (exit code ${code}); its output above says why.`)
    return code
  }
  markInstalled(root)
  return buildDocs()
}

/** Installs the packages unless they are those of package-lock.json. Resolves with the path of the Bun binary. */
export const ensureSetup = async () => {
  if (isLinked(root)) {
    console.error(
      'node_modules is a symbolic link: installing would change the folder that it leads to. Remove the link and run the command again.',
    )
    process.exit(1)
  }
  if (!isInstalled(root)) {
    const path = lockPathOf(root)
    const code = await withLock(path, install, (pid) =>
      console.error(`Waiting for process ${pid}, which installs the packages (${path}) ...`),
    )
    if (code !== 0) process.exit(code)
  }
  const bun = findBun()
  if (bun === undefined) {
    console.error(describeMissingBun())
    process.exit(1)
  }
  linkBun(bun)
  return bun
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const bun = await ensureSetup()
  console.error(`Ready: ${bun}`)
}
