import type { BunPlugin } from 'bun'

/**
 * Leaves out Node's `crypto`, which HPKE falls back to where there is no Web Crypto: for a browser it would be half a megabyte that is
 * never used.
 */
export const webCryptoOnly: BunPlugin = {
  name: 'web crypto only',
  setup: (build) => {
    build.onResolve({ filter: /^crypto$/ }, ({ importer }) =>
      importer.includes('@hpke') ? { path: 'crypto', namespace: 'left-out' } : undefined,
    )
    build.onLoad({ filter: /^crypto$/, namespace: 'left-out' }, () => ({
      contents: 'export const webcrypto = undefined',
    }))
  },
}

/** Builds one minified module for a browser from an entry with all that it imports. */
export async function bundle(entry: string, plugins: BunPlugin[] = []): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [entry],
    target: 'browser',
    format: 'esm',
    minify: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [webCryptoOnly, ...plugins],
    throw: true,
  })
  const [script] = outputs
  if (script === undefined || outputs.length !== 1) throw new Error(`${entry} is not one file`)
  return await script.text()
}
