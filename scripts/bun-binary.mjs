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

const platforms = { win32: 'windows' }
const architectures = { arm64: 'aarch64' }

const usesMusl = () => {
  if (process.platform !== 'linux') return false
  const header = process.report?.getReport()?.header
  return header !== undefined && header.glibcVersionRuntime === undefined
}

/** Returns the names of the packages that may contain this machine's Bun, best first. */
const packageNames = () => {
  const platform = platforms[process.platform] ?? process.platform
  const architecture = architectures[process.arch] ?? process.arch
  const name = `bun-${platform}-${architecture}`
  const musl = `${name}-musl`
  const libcs = usesMusl() ? [musl] : [name, musl]
  return libcs.flatMap((libc) => [libc, `${libc}-baseline`])
}

/** Returns the Bun binary that npm installed for this machine, undefined when there is none. */
export const findBun = () => {
  const folder = join(root, 'node_modules', '@oven')
  const file = process.platform === 'win32' ? 'bun.exe' : 'bun'
  for (const name of packageNames()) {
    const binary = join(folder, name, 'bin', file)
    if (!existsSync(binary)) continue
    try {
      accessSync(binary, constants.X_OK)
    } catch {
      chmodSync(binary, 0o755)
    }
    return binary
  }
  return undefined
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
  const folder = join(root, 'node_modules', 'bun', 'bin')
  for (const name of ['bun.exe', 'bunx.exe']) {
    const command = join(folder, name)
    if (statSync(command, { throwIfNoEntry: false })?.size !== size) linkOrCopy(binary, command)
  }
}

/** Says which Bun binary is missing. */
export const describeMissingBun = () => {
  const folder = join(root, 'node_modules', '@oven')
  const present = existsSync(folder) ? readdirSync(folder).join(', ') : 'none'
  return `No Bun binary for ${process.platform} ${process.arch} (wanted @oven/${packageNames()[0]}, found ${present}). Delete node_modules and run the command again with npm's optional dependencies switched on.`
}
