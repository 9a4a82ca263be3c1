// Fails when package-lock.json has a package without a checksum or not from the registry, or when npm would run install scripts.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './bun-binary.mjs'

const read = (name) => readFileSync(join(root, name), 'utf8')
const { '': _, ...packages } = JSON.parse(read('package-lock.json')).packages
const faults = Object.entries(packages).flatMap(([path, { integrity, resolved, link }]) => [
  // npm adds no checksum to an entry that is there, so one of another platform stays without.
  ...(integrity?.startsWith('sha512-')
    ? []
    : [`${path} has no SHA-512: delete its entry, and run npm install --package-lock-only`]),
  // Packages from the registry have no `resolved` (omit-lockfile-registry-resolved).
  ...(resolved || link
    ? [`${path} comes from ${resolved}: depend on a version in the registry`]
    : []),
])
if (!/^ignore-scripts=true$/m.test(read('.npmrc')))
  faults.push('.npmrc has to say ignore-scripts=true')
for (const fault of faults) console.error(fault)
process.exitCode = faults.length === 0 ? 0 : 1
