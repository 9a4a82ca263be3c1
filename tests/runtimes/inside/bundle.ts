import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { programOf } from '../../../demo/runtime-programs.ts'

const patienceMs = 100_000
const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Writes the worker that runs the store suite; its tests become cases. */
export async function bundleSuite(folder: string): Promise<void> {
  const shim = join(import.meta.dirname, 'vitest.ts')
  await Bun.build({
    entrypoints: [join(import.meta.dirname, 'object-worker.ts')],
    outdir: folder,
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
}

/** Writes one file with everything that a file of this folder needs, for a runtime that has the web's interfaces only. */
export async function bundle(file: string, format: 'esm' | 'iife', to: string): Promise<void> {
  const bun = programOf('bun')
  if (!bun) throw new Error('There is no Bun to bundle the suite with')
  const source = join(import.meta.dirname, file)
  const args = ['build', '--target=browser', `--format=${format}`, `--outfile=${to}`, source]
  await promisify(execFile)(bun, args, { cwd: root, timeout: patienceMs })
}
