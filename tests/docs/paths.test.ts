import { readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
// What tools keep in .cache is not there before they have run.
const entries = new Set((await readdir(root)).filter((name) => name !== '.cache'))

/** The files and folders that a line names in backticks; a name without a folder is in the folder of the path before it. */
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

describe('the pages', () => {
  it('link to pages and headings that exist', async () => {
    const docs = (await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md'))
    const pages = [
      'README.md',
      'CONTRIBUTING.md',
      'SECURITY.md',
      ...docs.map((name) => join('docs', name)),
    ]
    const texts = new Map(
      await Promise.all(
        pages.map(async (page) => [page, await readFile(join(root, page), 'utf8')] as const),
      ),
    )
    const anchorsIn = (text = '') =>
      [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
        heading
          .toLowerCase()
          .replace(/[^\w -]/g, '')
          .replaceAll(' ', '-'),
      )
    const broken: string[] = []
    for (const [page, text] of texts) {
      for (const [link, path = '', anchor] of text.matchAll(
        /\]\(([\w./-]*\.md)?(?:#([^)]+))?\)/g,
      )) {
        const target = path === '' ? page : join(dirname(page), path)
        const isThere = texts.has(target) || (await exists(target))
        const hasAnchor = anchor === undefined || anchorsIn(texts.get(target)).includes(anchor)
        if (!isThere || !hasAnchor) broken.push(`${page} ${link}`)
      }
    }
    expect(broken).toEqual([])
  })

  it('name commands that exist', async () => {
    const textOf = (file: string) => readFile(join(root, file), 'utf8')
    const { scripts } = JSON.parse(await textOf('package.json'))
    const { tasks } = JSON.parse(await textOf('deno.json'))
    const known = new Set([
      ...Object.keys(scripts).map((name) => `npm run ${name}`),
      ...Object.keys(tasks).map((name) => `deno task ${name}`),
    ])
    const docs = (await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md'))
    const pages = ['README.md', 'CONTRIBUTING.md', ...docs.map((name) => join('docs', name))]
    const missing: string[] = []
    for (const page of pages) {
      const named = (await textOf(page)).matchAll(
        /\b(npm run|deno task)\s+(?:-s |--silent )?([a-z][\w:-]*)/g,
      )
      for (const [, runner, name] of named) {
        if (!known.has(`${runner} ${name}`)) missing.push(`${page}: ${runner} ${name}`)
      }
    }
    expect(missing).toEqual([])
  })

  it('compute gas money with the gas that was measured', async () => {
    const textOf = (page: string) => readFile(join(root, 'docs', page), 'utf8')
    const measured = await textOf('contracts.md')
    for (const page of ['operators.md', 'operations.md']) {
      const formula = /`[^`]*\* price\s+of\s+gas`/.exec(await textOf(page))?.[0] ?? ''
      const numbers = formula.match(/\d+,\d+/g) ?? []
      expect(numbers).toHaveLength(2)
      for (const number of numbers) expect(measured).toContain(`| ${number} `)
    }
  })
})
