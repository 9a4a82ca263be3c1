import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { programOf } from '../../../demo/runtime-programs.ts'

const patienceMs = 100_000
const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Writes one file with everything that a file of this folder needs, for a runtime that has the web's interfaces only. */
export const bundle = (file: string, format: 'esm' | 'iife', to: string): Promise<void> =>
  runBun(
    ...['build', '--target=browser', `--format=${format}`],
    ...[`--outfile=${to}`, join(import.meta.dirname, file)],
  )

/** Writes `object-worker.js`, the worker that runs the store suite. */
export const bundleSuite = (folder: string): Promise<void> =>
  runBun('--no-env-file', join(import.meta.dirname, 'bundle-suite.ts'), folder)

async function runBun(...args: string[]): Promise<void> {
  const bun = programOf('bun')
  if (!bun) throw new Error('There is no Bun to bundle the suite with')
  await promisify(execFile)(bun, args, { cwd: root, timeout: patienceMs })
}
