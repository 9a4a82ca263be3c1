import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { advisoriesIn } from './advisories.ts'
import { type Dependencies, faultsOf, isExcepted, readDependencies } from './lockfile.ts'

const dependencies = await readDependencies(join(import.meta.dirname, '../../..'))
const today = '2026-11-22'
const integrity = `sha512-${'A'.repeat(86)}==`

/** The faults of the project with one package more, or another way to run npm. */
const faultsWith = (entry: object, changes: Partial<Dependencies> = {}): readonly string[] => {
  const base = { dev: false, optional: false, hasInstallScript: false, license: 'MIT', integrity }
  const packages = { ...dependencies.lock.packages, 'node_modules/x': { ...base, ...entry } }
  return faultsOf({ ...dependencies, lock: { ...dependencies.lock, packages }, ...changes }, today)
}

describe('the dependencies of the project', () => {
  it('are one version each, with a checksum, a licence and no script that runs', () => {
    expect(faultsOf(dependencies, new Date().toISOString().slice(0, 10))).toEqual([])
  })
})

describe('the audit', () => {
  it('finds a range of versions, and one that is not the locked one', () => {
    const manifest = {
      dependencies: { zod: '^4.0.0', jose: '1.0.0' },
      devDependencies: {},
      optionalDependencies: {},
    }
    expect(faultsWith({}, { manifest })).toEqual([
      'zod is asked for as ^4.0.0: name one version',
      expect.stringContaining('jose is asked for as 1.0.0 and locked as '),
    ])
  })

  it('finds a missing checksum, but not of what is never installed here', () => {
    expect(faultsWith({ integrity: undefined })).toHaveLength(1)
    expect(faultsWith({ integrity: 'sha1-abc' })).toHaveLength(1)
    expect(faultsWith({ integrity: undefined, optional: true, os: ['darwin'] })).toEqual([])
    expect(faultsWith({ integrity: undefined, os: ['darwin'] })).toHaveLength(1)
    expect(
      faultsWith({ integrity: undefined, optional: true, os: ['linux'], cpu: ['x64'] }),
    ).toHaveLength(1)
  })

  it('finds scripts and licences that nobody has looked at', () => {
    expect(faultsWith({ hasInstallScript: true })).toHaveLength(1)
    expect(faultsWith({ license: 'AGPL-3.0' })).toHaveLength(1)
    expect(faultsWith({ license: undefined })).toHaveLength(1)
    expect(faultsWith({ license: 'AGPL-3.0', dev: true })).toEqual([])
    expect(faultsWith({}, { npmrc: 'fund=false\n' })).toHaveLength(1)
  })

  it('lets exceptions through until they expire', () => {
    const exceptions = { a: { reason: 'known', until: '2026-11-22' } }
    expect(isExcepted(exceptions, 'a', '2026-11-22')).toBe(true)
    expect(isExcepted(exceptions, 'a', '2026-11-23')).toBe(false)
    expect(isExcepted(exceptions, 'constructor', '2026-11-22')).toBe(false)
  })

  it('reads what npm says of advisories, and tells no answer from a good one', () => {
    const advisory = {
      source: 1,
      name: 'x',
      title: 'Bad',
      url: 'https://a.test/GHSA-1',
      severity: 'moderate',
    }
    const output = JSON.stringify({ vulnerabilities: { x: { via: [advisory, 'y'] } } })
    expect(advisoriesIn(output, 'moderate', today)).toEqual([
      'x: moderate, Bad (https://a.test/GHSA-1)',
    ])
    expect(advisoriesIn(output, 'high', today)).toEqual([])
    expect(advisoriesIn('{"vulnerabilities":{}}', 'low', today)).toEqual([])
    for (const none of ['', '{"message":"405","error":{}}', 'npm error']) {
      expect(advisoriesIn(none, 'low', today)).toBeUndefined()
    }
  })
})
