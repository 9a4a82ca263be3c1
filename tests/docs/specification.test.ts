import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const page = await readFile(join(root, 'docs', 'specification.md'), 'utf8')
const sections = new Set(
  [...page.matchAll(/^#+ (\d+(?:\.\d+)?)\.? /gm)].map(([, number]) => number),
)

const folders = ['client', 'contracts', 'demo', 'icl', 'lib', 'node', 'scripts', 'tests', 'web']
const isSource = (name: string) => /\.(?:ts|tsx|mjs|sol)$/.test(name)

/** Each reference of the sources to a section of the specification, with its file. */
async function referencesIn(folder: string): Promise<readonly [file: string, section: string][]> {
  const names = await readdir(join(root, folder), { recursive: true })
  const files = names.filter(isSource).map((name) => join(folder, name))
  const found = await Promise.all(
    files.map(async (file) => {
      const text = await readFile(join(root, file), 'utf8')
      const sections = text.matchAll(/\bspec (\d+(?:\.\d+)?)(?: and (\d+(?:\.\d+)?))?/g)
      return [...sections].flatMap(([, ...numbers]) =>
        numbers.flatMap((number) => (number ? [[file, number] as [string, string]] : [])),
      )
    }),
  )
  return found.flat()
}

describe('docs/specification.md', () => {
  it('has every section that the code refers to', async () => {
    const references = (await Promise.all(folders.map(referencesIn))).flat()
    expect(references.length).toBeGreaterThan(50)
    expect(references.filter(([, section]) => !sections.has(section))).toEqual([])
  })

  it('lists each departure that it marks, once and with a reason', () => {
    const [text = '', table = ''] = page.split(/^## Departures$/m)
    const marked = new Set([...text.matchAll(/\[(D\d+)\](?!\()/g)].map(([, mark]) => mark))
    const listed = [...table.matchAll(/^\| (D\d+) +\|[^|]+\|[^|]+\|([^|]+)\|$/gm)]
    expect(new Set(listed.map(([, mark]) => mark))).toEqual(marked)
    expect(listed).toHaveLength(marked.size)
    for (const [, , reason = ''] of listed) expect(reason.trim()).not.toBe('')
  })
})
