import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The first Node that takes TypeScript as it is. */
const neededVersion = '22.18'

/** Returns a Node that takes TypeScript as it is: the one that runs, else the one that npm installs on Linux x64; undefined when both are missing. */
export const findNode = (root, { features, execPath } = process) => {
  const installed = join(root, 'node_modules', '.bin', 'node')
  if (features.typescript) return execPath
  return existsSync(installed) ? installed : undefined
}

/** Says that a file needs a newer Node than the one that runs. */
export const describeOldNode = (file) =>
  `${file} needs Node ${neededVersion} or newer, and this is Node ${process.versions.node}. Install a newer one (https://nodejs.org) and run the command again.`
