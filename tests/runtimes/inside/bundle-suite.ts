// Bundles the worker that runs the store suite into the folder that is named: its tests become cases.
import { join } from 'node:path'

const shim = join(import.meta.dirname, 'vitest.ts')
await Bun.build({
  entrypoints: [join(import.meta.dirname, 'object-worker.ts')],
  outdir: process.argv[2] ?? '',
  target: 'browser',
  throw: true,
  plugins: [
    {
      name: 'tests as cases',
      setup: (build) => {
        build.onResolve({ filter: /^vitest$/ }, ({ importer }) =>
          importer === shim ? undefined : { path: shim },
        )
      },
    },
  ],
})
