import type { BunPlugin } from 'bun'

/** Builds one minified module for a browser from an entry with all that it imports. */
export async function bundle(entry: string, plugins: BunPlugin[] = []): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [entry],
    target: 'browser',
    format: 'esm',
    minify: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins,
    throw: true,
  })
  const [script] = outputs
  if (script === undefined || outputs.length !== 1) throw new Error(`${entry} is not one file`)
  return await script.text()
}
