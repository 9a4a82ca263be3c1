import { createHash } from 'node:crypto'
import { lstatSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const modules = (root) => join(root, 'node_modules')
const lockFile = (root) => join(root, 'package-lock.json')
const hashFile = (root) => join(modules(root), '.svc-lock-hash')

const hashOfLock = (root) =>
  createHash('sha256')
    .update(readFileSync(lockFile(root)))
    .digest('hex')

const orUndefined = (read) => {
  try {
    return read()
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

/** True when node_modules is a link: installing would empty another project's folder. */
export const isLinked = (root) =>
  orUndefined(() => lstatSync(modules(root)))?.isSymbolicLink() === true

/** Records that the installed packages are those of package-lock.json. */
export const markInstalled = (root) => writeFileSync(hashFile(root), `${hashOfLock(root)}\n`)

/** True when the installed packages are those of package-lock.json, also when npm was run without this project's scripts. */
export const isInstalled = (root) => {
  const noted = orUndefined(() => readFileSync(hashFile(root), 'utf8'))
  if (noted !== undefined) return noted.trim() === hashOfLock(root)
  const byNpm = orUndefined(() => statSync(join(modules(root), '.package-lock.json')))
  if (byNpm === undefined || byNpm.mtimeMs <= statSync(lockFile(root)).mtimeMs) return false
  markInstalled(root)
  return true
}
