import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { adminProgram } from '../../../icl/start/admin.ts'
import { openSqliteStore } from '../../../icl/store/sqlite/file.ts'
import type { Store } from '../../../icl/store/store.ts'
import { runProgram } from '../../../lib/host/program/run-program.ts'

/** The folder, the sqlite file and the store of the test that runs, where the test file calls `freshStore`. */
export let folder: string
export let file: string
export let store: Store

/** Gives every test of the file a store of its own, which an ICL would have open. */
export function freshStore(): void {
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-admin-'))
    file = join(folder, 'icl.db')
    store = await openSqliteStore(file)
  })
  afterEach(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
}

/** Runs a command as a process would: what it printed, and its exit code. */
export const admin = (args: readonly string[], database = `sqlite:${file}`) =>
  adminIn({ SVC_ICL_DATABASE_URL: database }, args)

export async function adminIn(
  environment: Readonly<Record<string, string | undefined>>,
  args: readonly string[],
) {
  const [printed, warned] = [[] as string[], [] as string[]]
  const code = await runProgram(adminProgram, args, {
    print: (line) => void printed.push(line),
    warn: (line) => void warned.push(line),
    context: (lines) => ({ ...lines, environment }),
  })
  return { code, text: printed.join('\n'), error: warned.join('\n') }
}
