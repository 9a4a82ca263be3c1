// Fails when package-lock.json would install something without a checksum, or from elsewhere than the registry, or npm would run install scripts.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './bun-binary.mjs'

const read = (name) => readFileSync(join(root, name), 'utf8')
const { '': _, ...packages } = JSON.parse(read('package-lock.json')).packages
const faults = Object.entries(packages).flatMap(
  ([path, { integrity, optional, resolved, link }]) => [
    // Optional packages of other platforms have no checksum here: they are not installed.
    ...(integrity?.startsWith('sha512-') || (optional && !existsSync(join(root, path)))
      ? []
      : [`${path} has no SHA-512: run npm install, and commit package-lock.json`]),
    // The registry's packages are written without an address (omit-lockfile-registry-resolved).
    ...(resolved || link
      ? [`${path} comes from ${resolved}: depend on a version in the registry`]
      : []),
  ],
)
if (!/^ignore-scripts=true$/m.test(read('.npmrc')))
  faults.push('.npmrc has to say ignore-scripts=true')
for (const fault of faults) console.error(fault)
process.exitCode = faults.length === 0 ? 0 : 1
