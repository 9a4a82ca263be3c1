// Shows that mutation testing works: runs all its tests once, then on the mutants of one small file. Ends with 1 unless they kill each.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Stryker } from '@stryker-mutator/core'

process.chdir(join(import.meta.dirname, '..', '..'))
const folder = mkdtempSync(join(tmpdir(), 'svc-one-mutant-'))
try {
  const results = await new Stryker({
    configFile: 'stryker.config.json',
    mutate: ['icl/rules/client.ts'],
    // All tests, also those that do not import the file.
    vitest: { related: false },
    incremental: false,
    logLevel: 'error',
    reporters: [],
    tempDirName: folder,
  }).runMutationTest()
  const counted = results.filter(({ status }) => status !== 'Ignored')
  const alive = counted.filter(({ status }) => status !== 'Killed')
  for (const { fileName, location, replacement, status } of alive) {
    process.stdout.write(`${fileName}:${location.start.line}: ${replacement}: ${status}\n`)
  }
  const killed = counted.length - alive.length
  process.stdout.write(`${killed} of ${counted.length} mutants killed\n`)
  process.exitCode = counted.length > 0 && alive.length === 0 ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
