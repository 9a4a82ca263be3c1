import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { runCommand } from '../../lib/host/run-command.ts'
import { readLock } from '../../scripts/build-node/lock.ts'
import { targets } from '../../scripts/build-node/targets.ts'
import { compareWithLock, makeBill } from '../../scripts/release/bill-of-materials.ts'
import { changesOf, objections } from '../../scripts/release/commit-facts.ts'

const root = join(import.meta.dirname, '..', '..')
const main = join(root, 'scripts', 'release', 'main.ts')
const hereTarget = `${process.platform}-${process.arch}`
const folders: string[] = []

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
})

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-release-test-'))
  folders.push(folder)
  return folder
}

// Nothing listens there: whatever is not on this machine cannot be had.
const offline = { npm_config_registry: 'http://127.0.0.1:9', npm_config_fetch_retries: '0' }
const release = (...args: readonly string[]) =>
  runCommand([process.execPath, '--no-env-file', main, ...args], {
    env: { ...process.env, ...offline },
    timeoutMs: 280_000,
  })

describe('npm run release', () => {
  it('makes in a dry run what a release has, the same bytes twice, and says what it holds', async () => {
    const folder = join(await emptyFolder(), 'release')
    const args = ['--dry-run', '--targets', hereTarget, '--out', folder, '--json']
    const { code, stdout, stderr } = await release(...args)
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining('built twice, the same bytes'),
    })
    expect(stderr).toContain('agrees with package-lock.json')
    expect(stderr).toContain('nothing was published')
    const { artefacts, dry_run } = JSON.parse(stdout)
    expect(dry_run).toBe(true)
    const names: string[] = artefacts.map(({ file }: { file: string }) => file)
    for (const name of ['CHANGES.md', 'sbom.cdx.json', 'edge/icl-edge.mjs']) {
      expect(names).toContain(name)
    }
    expect(names.filter((name) => name.startsWith('svc-node-'))).toEqual([
      targets.find(({ name }) => name === hereTarget)?.file,
    ])
    const sums = await readFile(join(folder, 'SHA256SUMS'), 'utf8')
    for (const { file, bytes, sha256 } of artefacts) {
      const content = await readFile(join(folder, file))
      expect([file, content.length]).toEqual([file, bytes])
      expect(createHash('sha256').update(content).digest('hex')).toBe(sha256)
      expect(sums).toContain(`${sha256}  ${file}\n`)
      expect(stderr).toContain(sha256)
    }
    expect(sums.trim().split('\n')).toHaveLength(artefacts.length)
  })

  it('leaves a folder alone that holds something else', async () => {
    const folder = await emptyFolder()
    await writeFile(join(folder, 'mine'), 'text')
    await writeFile(join(folder, 'SHA256SUMS'), `${'0'.repeat(64)}  another\n`)
    const told = await release('--dry-run', '--targets', hereTarget, '--out', folder)
    expect(told).toMatchObject({ code: 1, stderr: expect.stringContaining('no release') })
    expect(new Set(await readdir(folder))).toEqual(new Set(['SHA256SUMS', 'mine']))
  })

  it('leaves alone what others keep beside its sums', async () => {
    const folder = await emptyFolder()
    await writeFile(join(folder, 'image.iso'), 'text')
    await writeFile(join(folder, 'SHA256SUMS'), `${'0'.repeat(64)}  image.iso\n`)
    const told = await release('--dry-run', '--targets', hereTarget, '--out', folder)
    expect(told).toMatchObject({ code: 1, stderr: expect.stringContaining('no release') })
    expect(new Set(await readdir(folder))).toEqual(new Set(['SHA256SUMS', 'image.iso']))
  })
})

describe('what speaks against a release', () => {
  const good = { tags: ['v1.2.3'], isClean: true }
  const versions = { version: '1.2.3', lockVersion: '1.2.3' }

  it('is nothing when version, lock file, tag and files agree', () => {
    expect(objections(good, versions)).toEqual([])
  })

  it('is each of them that does not', () => {
    expect(objections({ ...good, tags: ['v1.2.2'] }, versions)).toEqual([
      'the commit does not have the tag v1.2.3',
    ])
    expect(objections({ ...good, isClean: false }, versions)).toHaveLength(1)
    expect(objections(good, { ...versions, lockVersion: '1.2.2' })).toHaveLength(1)
    expect(
      objections({ ...good, tags: ['vnext'] }, { version: 'next', lockVersion: 'next' }),
    ).toEqual(['next is no version'])
  })
})

describe('what has changed', () => {
  const facts = { before: 'v1.0.0', changes: ['Newer', 'Older'] }

  it('is what the changelog says of this version', () => {
    const changelog = '# Changes\n\n## [1.1.0] - today\n\n- Good\n\n## 1.0.0\n\n- Old\n'
    expect(changesOf('1.1.0', facts, changelog)).toBe('## [1.1.0] - today\n\n- Good\n')
  })

  it('is else what the commits say', () => {
    const expected = '## 1.1.0\n\nSince v1.0.0:\n\n- Newer\n- Older\n'
    expect(changesOf('1.1.0', facts, '## 1.0.0\n')).toBe(expected)
    expect(changesOf('1.1.0', facts, undefined)).toBe(expected)
    expect(changesOf('1.1.0', { ...facts, before: undefined }, undefined)).toContain('beginning')
  })
})

it('the bill of materials is the same twice, agrees with package-lock.json, and would show where it does not', async () => {
  const facts = { name: 'svc', time: 1_800_000_000, bun: '1.2.3' }
  const bill = await makeBill(root, facts)
  expect(await makeBill(root, facts)).toBe(bill)
  expect(bill).toContain('"bun@1.2.3"')
  expect(bill).not.toContain('vitest')
  const lock = await readLock(root)
  // Bun comes with the packages for development: its version here is made up.
  expect(compareWithLock(bill, lock)).toEqual(['bun@1.2.3 is not in package-lock.json'])
  const { 'node_modules/zod': zod, ...packages } = lock.packages
  const older = {
    ...lock,
    packages: { ...packages, 'node_modules/zod': { ...zod, version: '0.1.0' } },
  }
  expect(compareWithLock(bill, older)).toEqual(
    expect.arrayContaining([
      'zod@0.1.0 is not in the bill',
      `zod@${zod?.version} is not in package-lock.json`,
    ]),
  )
  const other = { ...zod, integrity: `sha512-${Buffer.alloc(64).toString('base64')}` }
  expect(
    compareWithLock(bill, { ...lock, packages: { ...packages, 'node_modules/zod': other } }),
  ).toContain(`zod@${zod?.version} has another hash than in package-lock.json`)
})
