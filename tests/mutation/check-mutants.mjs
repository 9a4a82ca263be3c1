// Shows that mutation testing works: runs all its tests once, then on each mutant of one small file. Ends with 1 if one survives.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Stryker } from '@stryker-mutator/core'

process.chdir(join(import.meta.dirname, '..', '..'))
const folder = mkdtempSync(join(tmpdir(), 'svc-mutants-'))
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
  const killed = results.filter(({ status }) => status === 'Killed')
  // A busy machine may let one run out of time.
  const alive = results.filter(({ status }) => !['Killed', 'Timeout', 'Ignored'].includes(status))
  for (const { fileName, location, replacement, status } of alive) {
    process.stdout.write(`${fileName}:${location.start.line}: ${replacement}: ${status}\n`)
  }
  process.stdout.write(`${killed.length} mutants killed, ${alive.length} alive\n`)
  process.exitCode = killed.length > 0 && alive.length === 0 ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
