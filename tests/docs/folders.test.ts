import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')

/** The ICL's folders; each file that is in none counts by itself. */
const unitOf = (file: string): string => (dirname(file) === 'icl' ? file : dirname(file))

/** Which units of the ICL each of them imports. */
async function readImports(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const imports = new Map<string, Set<string>>()
  const names = await readdir(join(root, 'icl'), { recursive: true })
  for (const name of names.filter((entry) => entry.endsWith('.ts'))) {
    const file = join('icl', name)
    const text = await readFile(join(root, file), 'utf8')
    const own = imports.get(unitOf(file)) ?? new Set<string>()
    imports.set(unitOf(file), own)
    for (const [, path] of text.matchAll(/(?:from|import\() ?'(\.\.?\/[^']+)'/g)) {
      const imported = normalize(join(dirname(file), path ?? ''))
      if (imported.startsWith('icl')) own.add(unitOf(imported))
    }
    own.delete(unitOf(file))
  }
  return imports
}

describe('the folders of the ICL', () => {
  it('import one another in one direction: those that import only what is left out so far go, until none is left', async () => {
    const left = new Map(await readImports())
    expect(left.size).toBeGreaterThan(15)
    for (;;) {
      const free = [...left].filter(([, imports]) => [...imports].every((unit) => !left.has(unit)))
      if (free.length === 0) break
      for (const [unit] of free) left.delete(unit)
    }
    expect([...left.keys()]).toEqual([])
  })
})
