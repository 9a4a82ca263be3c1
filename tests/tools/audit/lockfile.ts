import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { allowedLicences, type Exception, licenceExceptions, scriptExceptions } from './allowed.ts'

const Names = z.record(z.string(), z.string())
const Manifest = z.object({
  dependencies: Names.default({}),
  devDependencies: Names.default({}),
  optionalDependencies: Names.default({}),
})
/** npm writes one name as it is, and several as a list. */
const List = z.preprocess(
  (value) => (typeof value === 'string' ? [value] : value),
  z.array(z.string()).optional(),
)
const Entry = z.object({
  version: z.string().optional(),
  license: z.string().optional(),
  integrity: z.string().optional(),
  dev: z.boolean().default(false),
  optional: z.boolean().default(false),
  hasInstallScript: z.boolean().default(false),
  os: List,
  cpu: List,
  libc: List,
})
type Entry = z.output<typeof Entry>
const Lock = z.object({ lockfileVersion: z.literal(3), packages: z.record(z.string(), Entry) })

/** What the project depends on: what it asks for, what was locked, and how npm is told to behave. */
export type Dependencies = {
  readonly manifest: z.output<typeof Manifest>
  readonly lock: z.output<typeof Lock>
  readonly npmrc: string
}

/** Reads it from the project's folder. */
export async function readDependencies(root: string): Promise<Dependencies> {
  const read = (name: string) => readFile(join(root, name), 'utf8')
  return {
    manifest: Manifest.parse(JSON.parse(await read('package.json'))),
    lock: Lock.parse(JSON.parse(await read('package-lock.json'))),
    npmrc: await read('.npmrc'),
  }
}

const exact = /^\d+\.\d+\.\d+(-[\w.]+)?$/

/** True where an entry is never installed on Linux x64 with glibc, where everything is built and tested. */
const isForeign = ({ optional, os, cpu, libc }: Entry): boolean =>
  optional &&
  ((os !== undefined && !os.includes('linux')) ||
    (cpu !== undefined && !cpu.includes('x64')) ||
    (libc !== undefined && !libc.includes('glibc')))

/** An exception that is there and has not expired by a day (YYYY-MM-DD). */
export const isExcepted = (
  exceptions: Readonly<Record<string, Exception>>,
  name: string,
  today: string,
): boolean => {
  const exception = Object.hasOwn(exceptions, name) ? exceptions[name] : undefined
  return exception !== undefined && today <= exception.until
}

/** Everything about the dependencies that no registry has to be asked for, as faults in words; nothing when all is well. */
export function faultsOf(
  { manifest, lock, npmrc }: Dependencies,
  today: string,
): readonly string[] {
  const asked = {
    ...manifest.dependencies,
    ...manifest.devDependencies,
    ...manifest.optionalDependencies,
  }
  const entries = Object.entries(lock.packages).filter(([path]) => path !== '')
  return [
    ...Object.entries(asked).flatMap(([name, version]) => {
      if (!exact.test(version)) return [`${name} is asked for as ${version}: name one version`]
      const locked = lock.packages[`node_modules/${name}`]?.version
      return locked === version
        ? []
        : [`${name} is asked for as ${version} and locked as ${locked}`]
    }),
    ...(/^ignore-scripts=true$/m.test(npmrc)
      ? []
      : ['.npmrc lets install scripts run: set ignore-scripts=true']),
    ...entries.flatMap(([path, entry]) => entryFaults(path, entry, today)),
  ]
}

function entryFaults(path: string, entry: Entry, today: string): readonly string[] {
  const { integrity, hasInstallScript, dev, license = 'none' } = entry
  const isLicensed =
    dev || allowedLicences.has(license) || isExcepted(licenceExceptions, path, today)
  const mayHaveScript = !hasInstallScript || isExcepted(scriptExceptions, path, today)
  const isSummed = integrity === undefined ? isForeign(entry) : integrity.startsWith('sha512-')
  return [
    ...(isSummed ? [] : [`${path} has no SHA-512 in package-lock.json`]),
    ...(mayHaveScript
      ? []
      : [`${path} has an install script: see that it works without, and list it`]),
    ...(isLicensed
      ? []
      : [`${path} is shipped under the licence ${license}: see that it may be, and list it`]),
  ]
}

/** How much was looked at. */
export const countsOf = ({ lock }: Dependencies) => {
  const entries = Object.entries(lock.packages).flatMap(([path, entry]) =>
    path === '' ? [] : [entry],
  )
  return {
    packages: entries.length,
    shipped: entries.filter(({ dev }) => !dev).length,
    foreign: entries.filter((entry) => entry.integrity === undefined && isForeign(entry)).length,
    scripts: entries.filter(({ hasInstallScript }) => hasInstallScript).length,
  }
}
