import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')

/** Which folders below `top` each of them imports; a file that is in none counts by itself. */
async function readImports(top: string): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const unitOf = (file: string): string => (dirname(file) === top ? file : dirname(file))
  const imports = new Map<string, Set<string>>()
  const names = await readdir(join(root, top), { recursive: true })
  for (const name of names.filter((entry) => /\.tsx?$/.test(entry))) {
    const file = join(top, name)
    const text = await readFile(join(root, file), 'utf8')
    const own = imports.get(unitOf(file)) ?? new Set<string>()
    imports.set(unitOf(file), own)
    for (const [, path] of text.matchAll(/(?:from|import\() ?'(\.\.?\/[^']+)'/g)) {
      const imported = normalize(join(dirname(file), path ?? ''))
      if (imported.startsWith(join(top, '/'))) own.add(unitOf(imported))
    }
    own.delete(unitOf(file))
  }
  return imports
}

it.each(['lib', 'icl', 'node', 'client', 'contracts', 'web'])(
  'the folders of %s import one another in one direction: those that import only what is left out so far go, until none is left',
  async (top) => {
    const left = new Map(await readImports(top))
    expect(left.size).toBeGreaterThan(2)
    for (;;) {
      const free = [...left].filter(([, imports]) => [...imports].every((unit) => !left.has(unit)))
      if (free.length === 0) break
      for (const [unit] of free) left.delete(unit)
    }
    expect([...left.keys()]).toEqual([])
  },
)

it('requests leave by lib/outgoing.ts: only the named files use another way, which lint does not see', async () => {
  // The RPC of viem gets a fetch there, and webhooks connect to an address that was checked and read no body.
  const named = ['lib/chain/clients.ts', 'icl/start/webhook-sender.ts']
  const another =
    /\b(globalThis|window|self)\.fetch\b|import \{[^}]*\brequest\b[^}]*\} from 'node:https?'|import \{[^}]*\bhttp\b[^}]*\} from 'viem'/
  const found: string[] = []
  for (const top of ['lib', 'icl', 'node', 'client', 'contracts', 'demo', 'web']) {
    for (const name of await readdir(join(root, top), { recursive: true })) {
      if (!/\.tsx?$/.test(name) || name.endsWith('.generated.ts')) continue
      if (another.test(await readFile(join(root, top, name), 'utf8'))) found.push(join(top, name))
    }
  }
  expect(new Set(found)).toEqual(new Set(named))
})
