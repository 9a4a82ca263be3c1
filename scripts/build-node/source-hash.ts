import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'

/** The sources of the executable. The lock file stands for everything in node_modules. */
export const sourceFolders = ['lib', 'node', 'scripts/build-node']
export const sourceFiles = ['package.json', 'package-lock.json', 'tsconfig.json']
/** The module in Python starts the executable, and is no part of it. */
export const notSources = 'node/python'

async function filesUnder(root: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(root.length + 1))
    .filter((path) => !path.startsWith(join(notSources, sep)))
}

/** Returns the SHA-256 of the names and contents of all sources of the executable, in hex. */
export async function hashSources(root: string): Promise<string> {
  const inFolders = await Promise.all(sourceFolders.map((folder) => filesUnder(root, folder)))
  const paths = [...sourceFiles, ...inFolders.flat()].sort((a, b) => (a < b ? -1 : 1))
  const hash = createHash('sha256')
  for (const path of paths) {
    const bytes = await readFile(join(root, path))
    hash.update(`${path.split(sep).join('/')}\0${bytes.length}\0`).update(bytes)
  }
  return hash.digest('hex')
}
