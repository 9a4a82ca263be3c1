import { createHash } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { BunPlugin } from 'bun'
import { pageNames, pageStyle, withHeader } from '../lib/page-header.ts'
import { bundle } from './bundle.ts'

const root = join(import.meta.dirname, '..')
const sources = join(import.meta.dirname, 'playground')

/** The folder of the playground that an ICL serves. */
export const playgroundFolder = join(root, 'dist', 'playground')

// The coprocessor's SDK has an older zod of its own, which cannot be told that the page's policy forbids `eval`.
const oneZod: BunPlugin = {
  name: 'one zod',
  setup: (build) => {
    build.onResolve({ filter: /^zod$/ }, () => ({ path: Bun.resolveSync('zod', root) }))
  },
}

/** Builds the playground into a folder: a page, and parts whose names change with their content. */
export async function buildPlayground(folder = playgroundFolder): Promise<readonly string[]> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const put = async (name: string, content: string | Uint8Array): Promise<string> => {
    const hash = createHash('sha256').update(content).digest('hex').slice(0, 16)
    const extension = extname(name)
    const named = `${name.slice(0, -extension.length)}-${hash}${extension}`
    await writeFile(join(folder, named), content)
    return named
  }
  const source = (name: string) => readFile(join(sources, name))
  const built = (entry: string) => bundle(join(sources, entry), [oneZod])
  const wasm = await readFile(join(root, 'node_modules', 'tfhe', 'tfhe_bg.wasm'))
  const parts: Readonly<Record<string, string>> = {
    main: await put('main.js', await built('main.tsx')),
    coprocessorWorker: await put('coprocessor.js', await built('coprocessor-worker.ts')),
    proveWorker: await put('prove.js', await built('../../lib/coprocessor/prove-worker.ts')),
    wasm: await put('tfhe.wasm', wasm),
    style: await put('style.css', `${pageStyle}${await source('style.css')}`),
    icon: await put('icon.svg', await source('icon.svg')),
  }
  const page = String(await source('index.html')).replace(
    /\{\{(\w+)\}\}/g,
    (_, part: string) => `/playground/${parts[part]}`,
  )
  await writeFile(join(folder, 'index.html'), withHeader(page, pageNames, 'playground'))
  return ['index.html', ...Object.values(parts)]
}

if (import.meta.main) {
  for (const name of await buildPlayground()) {
    process.stdout.write(`${join('dist', 'playground', name)}\n`)
  }
}
