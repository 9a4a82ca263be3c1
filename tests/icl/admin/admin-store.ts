import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { runAdmin } from '../../../icl/start/admin.ts'
import { openSqliteStore } from '../../../icl/store/sqlite/file.ts'
import type { Store } from '../../../icl/store/store.ts'

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
export async function admin(args: readonly string[], database = `sqlite:${file}`) {
  const printed: string[] = []
  const complained: string[] = []
  const code = await runAdmin(args, {
    environment: { SVC_ICL_DATABASE_URL: database },
    print: (line) => void printed.push(line),
    complain: (line) => void complained.push(line),
  })
  return { code, text: printed.join('\n'), error: complained.join('\n') }
}
