import { readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const entries = new Set(await readdir(root))

/** The files and folders that a line names in backticks; a name without a folder is beside the path before it. */
function pathsIn(line: string): readonly string[] {
  let folder = ''
  return [...line.matchAll(/`([\w.-]+(?:\/[\w.-]+)*\/?)`/g)].flatMap(([, name = '']) => {
    if (name.includes('/')) {
      if (!entries.has(name.split('/')[0] ?? '')) return []
      folder = name.endsWith('/') ? name : dirname(name)
      return [name]
    }
    return folder !== '' && /\.(?:ts|tsx|sol|mjs)$/.test(name) ? [join(folder, name)] : []
  })
}

const exists = (path: string): Promise<boolean> =>
  stat(join(root, path)).then(
    () => true,
    () => false,
  )

async function missingIn(text: string): Promise<readonly string[]> {
  const paths = text.split('\n').flatMap(pathsIn)
  expect(paths.length).toBeGreaterThan(20)
  const found = await Promise.all(paths.map(exists))
  return paths.filter((_, index) => !found[index])
}

describe('the maps of the sources', () => {
  it('CONTRIBUTING.md names files and folders that exist', async () => {
    const text = await readFile(join(root, 'CONTRIBUTING.md'), 'utf8')
    expect(await missingIn(text)).toEqual([])
  })

  for (const page of ['architecture.md', 'security.md']) {
    it(`docs/${page} does`, async () => {
      const text = await readFile(join(root, 'docs', page), 'utf8')
      expect(await missingIn(text)).toEqual([])
    })
  }
})
