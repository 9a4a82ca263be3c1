import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { readRows } from './rows.ts'

const root = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFile(join(root, path), 'utf8')

const rows = await readRows()
/** The words of the rows that this test of the file shows. */
const wordsOf = (name: string) =>
  rows.flatMap(({ words, test }) => (test?.name === name ? [words] : []))

/** The packages that the product's sources import. */
async function importedByTheProduct(): Promise<Set<string>> {
  const found = new Set<string>()
  for (const folder of ['icl', 'node', 'lib']) {
    for (const name of await readdir(join(root, folder), { recursive: true })) {
      if (!/\.tsx?$/.test(name)) continue
      const text = await read(join(folder, name))
      for (const [, from = ''] of text.matchAll(/(?:from|import)[ (]'([^'.][^']*)'/g)) {
        found.add(/^(?:@[^/]+\/)?[^/]+/.exec(from)?.[0] ?? from)
      }
    }
  }
  return found
}

it.each(wordsOf('the product imports %s'))('the product imports %s', async (name) => {
  expect(await importedByTheProduct()).toContain(name)
  expect(manifest.dependencies).toHaveProperty([name])
})

it('the tests import vitest, and are checked against the types of Bun', async () => {
  expect(manifest.devDependencies).toHaveProperty('vitest')
  expect(await read('tsconfig.json')).toMatch(/"bun(-types)?"/)
  expect(await read('bunfig.toml')).toContain('preload')
})

it.each(wordsOf('%s stands at the top'))('%s stands at the top', async (name) => {
  expect(await readdir(root)).toContain(name)
})

it('has a command of npm for the ICL, on Bun and on Node', () => {
  expect(manifest.scripts.icl).toMatch(/bun\.mjs icl\/start\/bun\.ts$/)
  expect(manifest.scripts['icl:node']).toMatch(/icl\/start\/node\.ts$/)
})

it('the installed Bun runs a test of this project', async () => {
  const bun = join(root, 'node_modules', '.bin', 'bun')
  const { stderr } = await promisify(execFile)(bun, ['test', 'tests/lib/retry-after'], {
    ...{ cwd: root, timeout: 60_000, env: { PATH: process.env.PATH } },
  })
  expect(stderr).toMatch(/^ 0 fail$/m)
  // `npm test` chooses no tests of its own.
  expect(manifest.scripts.test).toBe('node scripts/test.mjs')
  expect(await read('bunfig.toml')).toContain('root = "./tests"')
}, 90_000)
