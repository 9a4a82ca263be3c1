import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, posix } from 'node:path'

const contractsFolder = import.meta.dirname
const require = createRequire(import.meta.url)

const importsOf = (path: string, text: string): readonly string[] =>
  [...text.matchAll(/^import\s[^"']*["']([^"']+)["'];/gm)].map(([, target = '']) =>
    target.startsWith('.') ? posix.join(posix.dirname(path), target) : target,
  )

const fileOf = (path: string): string =>
  path.startsWith('contracts/')
    ? join(contractsFolder, path.slice('contracts/'.length))
    : require.resolve(path)

/** Reads every Solidity source of the project's contracts, libraries included, by import path. */
export const readSources = async (): Promise<ReadonlyMap<string, string>> => {
  const names = await readdir(contractsFolder, { recursive: true })
  const own = names.filter((name) => name.endsWith('.sol')).sort()
  const waiting = own.map((name) => `contracts/${name.replaceAll('\\', '/')}`)
  const sources = new Map<string, string>()
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    if (sources.has(path)) continue
    const text = await readFile(fileOf(path), 'utf8')
    sources.set(path, text)
    waiting.push(...importsOf(path, text))
  }
  return sources
}
