import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { promisify } from 'node:util'
import { root } from './bundle.ts'

const run = promisify(execFile)

/** Makes the `.d.ts` files of modules and of the modules that their types need, in the same folders as the sources. */
export async function declare(entries: readonly string[], folder: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'svc-types-'))
  try {
    const config = join(work, 'tsconfig.json')
    const compilerOptions = {
      ...{ noEmit: false, declaration: true, emitDeclarationOnly: true },
      ...{ rewriteRelativeImportExtensions: true, rootDir: root, outDir: join(work, 'out') },
    }
    const extended = join(root, 'tsconfig.portable.json')
    const files = entries.map((entry) => join(root, entry))
    await writeFile(
      config,
      JSON.stringify({ extends: extended, compilerOptions, files, include: [] }),
    )
    const tsc = join(root, 'node_modules', '.bin', 'tsc')
    await run(tsc, ['-p', config], { cwd: root, shell: process.platform === 'win32' })
    await copyReachable(join(work, 'out'), entries.map(declarationOf), folder)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Returns the path of a module's types. */
export const declarationOf = (module: string): string => module.replace(/\.[jt]s$/, '.d.ts')

/** Copies declarations and those that they import. Modules that are loaded on demand have no visible types. */
async function copyReachable(from: string, first: readonly string[], to: string): Promise<void> {
  const names = [...first]
  const seen = new Set(names)
  for (const name of names) {
    const text = await readFile(join(from, name), 'utf8')
    await cp(join(from, name), join(to, name), { recursive: true })
    // The compiler keeps the sources' file endings in declarations.
    await writeFile(join(to, name), text.replaceAll(/(['"]\.[^'"]+)\.ts(['"])/g, '$1.js$2'))
    for (const [, module = ''] of text.matchAll(/['"](\.[^'"]+\.[jt]s)['"]/g)) {
      const imported = normalize(join(dirname(name), declarationOf(module)))
      if (!seen.has(imported)) names.push(imported)
      seen.add(imported)
    }
  }
}
