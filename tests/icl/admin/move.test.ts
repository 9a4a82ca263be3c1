import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { encodeRecord } from '../../../icl/admin/backup-lines.ts'
import { attestedNode } from '../../../icl/rules/eligibility.ts'
import { openMongoStore } from '../../../icl/store/mongodb/store.ts'
import { openSqliteStore } from '../../../icl/store/sqlite/file.ts'
import type { Store } from '../../../icl/store/store.ts'
import { systemClock, systemRandom } from '../../../lib/system.ts'
import { aJobId } from '../../branded.ts'
import { sampleReading } from '../../sample-reading.ts'
import { openWireServer, type WireServer, whyNoWireServer } from '../../store/wire-server/open.ts'
import { nodeA, nodeB, sampleJob } from '../rules/sample-job.ts'
import { admin as run } from './admin-store.ts'

const missing = await whyNoWireServer()

const admin = (database: string, ...args: string[]) => run(args, database)

/** Every record but the audit's as text, in an order that does not depend on the store. */
async function contentOf(store: Store): Promise<readonly string[]> {
  const texts: string[] = []
  for await (const record of store.scan()) {
    if (record.kind === 'key' && record.key.startsWith('audit:')) continue
    texts.push(encodeRecord(record))
  }
  return texts.toSorted((a, b) => (a < b ? -1 : 1))
}

/** The same database with time for a busy machine: how long it may take is not what is tested here. */
function patient(url: string): string {
  const patientUrl = new URL(url)
  for (const name of ['serverSelection', 'connect', 'socket', 'waitQueue']) {
    patientUrl.searchParams.set(`${name}TimeoutMS`, '60000')
  }
  return patientUrl.href
}

describe('from a file to a server', () => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let server: WireServer
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-move-'))
    server = await openWireServer()
  })
  afterAll(async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('a backup moves everything, and the commands work there', async () => {
    const file = join(folder, 'icl.db')
    const store = await openSqliteStore(file)
    const now = systemClock.now()
    for (let index = 0; index < 300; index++) {
      const id = `0x${index.toString(16).padStart(64, '0')}` as const
      await store.save({ kind: 'job', job: { ...sampleJob(), id: aJobId(id) }, base: 0 })
    }
    const certificate = {
      id: 'jti',
      backend: 'mock' as const,
      issuedAt: now,
      expiresAt: now + 3_600_000,
      thumbprint: 't',
      session: { key: 'k', not_after: 1, signature: '0x' as const },
    }
    await store.save({
      kind: 'node',
      node: attestedNode(nodeA, certificate, sampleReading),
      base: 0,
    })
    const client = { address: nodeB, firstAcceptedAt: now }
    await store.save({ kind: 'client', client, base: 0 })
    const bytes = new Uint8Array([0, 1, 255])
    await store.save({ kind: 'blob', cid: 'c', bytes, uploader: 'wallet', until: now })
    const before = await contentOf(store)
    await store.close()

    const backup = join(folder, 'backup')
    const url = patient(server.freshUrl())
    expect(await admin(`sqlite:${file}`, 'keys', 'rotate')).toMatchObject({ code: 0 })
    expect(await admin(`sqlite:${file}`, 'backup', backup)).toMatchObject({ code: 0 })
    expect(await admin(url, 'restore', backup)).toMatchObject({ code: 0 })
    expect((await admin(url, 'restore', backup)).error).toContain('not empty')
    const moved = await openMongoStore({ url, clock: systemClock, random: systemRandom })
    const after = await contentOf(moved)
    expect(after.filter((text) => !text.includes('keyring:'))).toEqual(before)
    expect(after.filter((text) => text.includes('keyring:'))).toHaveLength(1)

    expect(await admin(url, 'ban', nodeB, '--reason', 'x')).toMatchObject({ code: 0 })
    expect(await admin(url, 'revoke', nodeA)).toMatchObject({ code: 0 })
    expect(await moved.listNodes(now)).toEqual([])
    expect((await admin(url, 'audit')).text).toContain(`ban ${nodeB}`)
    const expiresAt = now + 3_600_000
    await moved.save({ kind: 'key', key: 'replica:r1', value: '{}', now, expiresAt })
    expect((await admin(url, 'restore', backup, '--merge')).error).toContain('uses the database')
    await moved.close()
  })
})
