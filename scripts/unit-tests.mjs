import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { root } from './bun-binary.mjs'

// In memory, too, but each takes many seconds: whole worlds in virtual time, every state of a job, every byte of a receipt, a browser.
const slow = [
  ...['simulation', 'scenarios', 'fuzz', 'contracts', 'browser'].map((name) => `tests/${name}/`),
  ...[
    ...['icl/rules/every-state', 'icl/thousand-jobs', 'store/mirror-model'],
    ...['icl/cut-connections', 'icl/attestation/fuzz', 'lib/receipt-bytes'],
  ].map((name) => `tests/${name}.test.ts`),
]

const ownImports = (file, text) =>
  [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)]
    .map(([, path]) => join(dirname(file), path))
    .filter((path) => existsSync(path))

const startsProcesses = (text) => /'node:child_process'|Bun\.spawn/.test(text)

/** True when the file, or one that it imports, starts processes. */
const reachesProcesses = (file, seen = new Set()) => {
  if (seen.has(file)) return false
  seen.add(file)
  const text = readFileSync(file, 'utf8')
  if (startsProcesses(text)) return true
  return ownImports(file, text).some((path) => reachesProcesses(path, seen))
}

/** Returns the test files that are pure or in memory: neither they nor their imports start a process. */
export const findUnitTests = () =>
  readdirSync(join(root, 'tests'), { recursive: true })
    .map((name) => join(root, 'tests', name))
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => relative(root, file).replaceAll('\\', '/'))
    .filter((name) => !slow.some((start) => name.startsWith(start)))
    .filter((name) => !reachesProcesses(join(root, name)))
    .sort()
