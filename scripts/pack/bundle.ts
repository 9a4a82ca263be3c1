import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BunPlugin } from 'bun'
import { webCryptoOnly } from '../../web/bundle.ts'
import { oneZod } from '../build-node/one-zod.ts'

export const root: string = join(import.meta.dirname, '..', '..')

// Some bundlers include zod's texts in fifty languages where `z` is imported by name.
const leanZod: BunPlugin = {
  name: 'lean zod',
  setup: (build) => {
    build.onLoad({ filter: /\/lib\/.*\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replace(
        "import { z } from 'zod'",
        "import * as z from 'zod'",
      ),
      loader: 'ts',
    }))
  },
}

// A proof takes one thread. The FHE code could start more by a URL of its own source, at which users' bundlers fail.
const oneThread: BunPlugin = {
  name: 'one thread',
  setup: (build) => {
    build.onLoad({ filter: /wasm-bindgen-rayon.*workerHelpers\.js$/ }, () => ({
      contents:
        "export const startWorkers = () => { throw new Error('This package has no threads for FHE') }",
    }))
  },
}

/** Bundles ES modules into a folder, in parts that are loaded only when used. Throws an Error with the bundler's messages. */
export async function bundle(options: {
  readonly entrypoints: readonly string[]
  readonly folder: string
  readonly target: 'browser' | 'node'
  /** Packages that stay imports. */
  readonly external?: readonly string[]
  readonly minify?: boolean
  readonly define?: Readonly<Record<string, string>>
}): Promise<void> {
  const { entrypoints, folder, target, external = [], minify = false, define = {} } = options
  await Bun.build({
    entrypoints: entrypoints.map((entry) => join(root, entry)),
    root,
    outdir: folder,
    target,
    format: 'esm',
    splitting: true,
    minify,
    env: 'disable',
    naming: { entry: '[name].js', chunk: 'part-[hash].js' },
    external: external.flatMap((name) => [name, `${name}/*`]),
    define: { 'process.env.NODE_ENV': '"production"', ...define },
    plugins: [
      leanZod,
      oneThread,
      ...(external.includes('zod') ? [] : [oneZod]),
      ...(target === 'browser' ? [webCryptoOnly] : []),
    ],
    throw: true,
  })
}
