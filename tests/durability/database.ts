import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../icl/start/open-store.ts'
import type { Store } from '../../icl/store/store.ts'
import { retrying } from '../../lib/retry.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock } from '../../lib/system.ts'
import { openWireServer } from '../store/wire-server/open.ts'

export type StoreKind = 'sqlite' | 'mongodb'

/** A database of a test's own. */
export type TestDatabase = {
  readonly url: string
  readonly folder: string
  /** Looks into it beside the ICL that uses it. */
  readonly look: () => Promise<Store>
  readonly close: () => Promise<void>
}

const isSlow = (error: unknown): 0 | undefined =>
  error instanceof SvcError && error.retryable ? 0 : undefined

/** Makes an empty database: a file, or one in a real server that speaks MongoDB's protocol. */
export async function openDatabase(kind: StoreKind): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-durability-'))
  const server = kind === 'mongodb' ? await openWireServer() : undefined
  const url = server ? server.freshUrl() : `sqlite:${join(folder, 'icl.db')}`
  return {
    url,
    folder,
    look: () =>
      // A busy server may be slow to let somebody in.
      retrying(
        systemClock,
        { attempts: 10, firstDelayMs: 500, maxDelayMs: 5_000 },
        undefined,
        isSlow,
        () => openStore(url, { guest: true }),
      ),
    close: async () => {
      await server?.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
