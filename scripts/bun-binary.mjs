import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The project's folder. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))

const folder = join(root, 'node_modules', '@oven')
const packages = () => (existsSync(folder) ? readdirSync(folder) : [])
const platform = process.platform === 'win32' ? 'windows' : process.platform
const architecture = process.arch === 'arm64' ? 'aarch64' : process.arch
/** The package with this machine's Bun. Of those with this beginning, npm installs the one for its C library. */
const packageName = `bun-${platform}-${architecture}`

/** Returns the Bun binary that npm installed for this machine, undefined when there is none. */
export const findBun = () => {
  const binary = packages()
    .filter((name) => name.startsWith(packageName))
    .map((name) => join(folder, name, 'bin', platform === 'windows' ? 'bun.exe' : 'bun'))
    .find(existsSync)
  if (binary === undefined) return undefined
  try {
    accessSync(binary, constants.X_OK)
  } catch {
    chmodSync(binary, 0o755)
  }
  return binary
}

const linkOrCopy = (from, to) => {
  const aside = `${to}.${process.pid}`
  try {
    linkSync(from, aside)
  } catch {
    copyFileSync(from, aside)
  }
  try {
    renameSync(aside, to)
  } finally {
    rmSync(aside, { force: true })
  }
}

/**
 * Puts the binary where npm's `bun` and `bunx` commands look for it, so that `npx bun test` works. The `bun` package does the same in its
 * install script, which this project does not run. Idempotent.
 */
export const linkBun = (binary) => {
  const { size } = statSync(binary)
  for (const name of ['bun.exe', 'bunx.exe']) {
    const command = join(root, 'node_modules', 'bun', 'bin', name)
    if (statSync(command, { throwIfNoEntry: false })?.size !== size) linkOrCopy(binary, command)
  }
}

/** Says which Bun binary is missing. */
export const describeMissingBun = () =>
  `No Bun binary for ${process.platform} ${process.arch} (wanted @oven/${packageName}, found ${packages().join(', ') || 'none'}). Delete node_modules and run the command again with npm's optional dependencies switched on.`
