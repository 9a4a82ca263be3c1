import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
// biome-ignore lint/correctness/noUnresolvedImports: Biome does not know this module yet.
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { banNode, revokeCertificate } from '../../../icl/records/bans.ts'
import { createKeyring } from '../../../icl/records/keyring.ts'
import type { PendingEffect } from '../../../icl/rules/effects.ts'
import { attestedNode } from '../../../icl/rules/eligibility.ts'
import { openSqliteStore } from '../../../icl/store/sqlite/file.ts'
import type { Store, StoreRecord } from '../../../icl/store/store.ts'
import { emptyFold, standingOf } from '../../../lib/reputation.ts'
import { systemClock } from '../../../lib/system.ts'
import { aJobId } from '../../branded.ts'
import { sampleReading } from '../../sample-reading.ts'
import { nodeA, nodeB, sampleJob } from '../rules/sample-job.ts'
import { admin, file, folder, freshStore, store } from './admin-store.ts'

freshStore()

async function json(args: readonly string[]) {
  const { code, text, error } = await admin([...args, '--json'])
  expect([code, error]).toEqual([0, ''])
  return JSON.parse(text)
}

const hour = 3_600_000
const certificate = (now: number) => ({
  id: 'jti',
  backend: 'mock' as const,
  issuedAt: now - hour,
  expiresAt: now + hour,
  thumbprint: 't',
  session: { key: 'k', not_after: 1, signature: '0x' as const },
})
const attest = (address: typeof nodeA, change = {}) =>
  store.save({
    kind: 'node',
    node: { ...attestedNode(address, certificate(Date.now()), sampleReading), ...change },
    base: 0,
  })
const isAttested = async (address: typeof nodeA) =>
  (await store.listNodes(Date.now())).some((node) => node.address === address)

describe('the command line', () => {
  it.each([
    [['revoke']],
    [['revoke', '0x12']],
    [['ban', nodeA]],
    [['ban', nodeA, '--reason', ' ']],
    [['effects', 'retry', 'job']],
    [['prune', '--days', '0']],
    [['release-ek', 'x']],
  ])('refuses %j as wrong usage, before anything is opened', async (args) => {
    const { code, error } = await admin(args, 'sqlite:/nowhere/x.db')
    expect(error).toMatch(/^error: /)
    expect(code).toBe(2)
  })

  it('needs a database that is there', async () => {
    expect(await admin(['stats'], 'memory:')).toMatchObject({ code: 1 })
    const { code, error } = await admin(['stats'], `sqlite:${join(folder, 'other.db')}`)
    expect(code).toBe(1)
    expect(error).toContain('other.db')
  })

  it('says what to do with a damaged one', async () => {
    await store.close()
    const db = new DatabaseSync(file)
    const row = db
      .prepare("SELECT rootpage AS page FROM sqlite_schema WHERE name = 'nodes_by_expiry'")
      .get()
    db.close()
    const bytes = readFileSync(file)
    bytes.fill(0xff, (Number(row?.page) - 1) * 1024, Number(row?.page) * 1024)
    writeFileSync(file, bytes)
    const { code, error } = await admin(['stats'])
    expect(code).toBe(1)
    expect(error).toMatch(/malformed[\s\S]*hint: .*restore the last backup/)
  })

  it('knows a file by both ways to write its URL', async () => {
    expect(await admin(['stats'], `sqlite:${file}`)).toMatchObject({ code: 0 })
    expect(await admin(['stats'], `sqlite://${file}`)).toMatchObject({ code: 0 })
  })

  // What is random begins with a dash once in 64 times.
  it.each([
    [['keys', 'withdraw', `-${'k'.repeat(42)}`], `No key -${'k'.repeat(42)} is published`],
    [['keys', 'withdraw', `--${'k'.repeat(41)}`, '--json'], `No key --${'k'.repeat(41)}`],
  ])('takes a key that begins with a dash for what it is: %j', async (args, said) => {
    expect(await admin(args)).toMatchObject({ code: 1, error: expect.stringContaining(said) })
  })

  it('takes the id of a certificate that begins with a dash for what it is', async () => {
    for (const id of ['-abc', '--abc', '-']) {
      const { thing } = await json(['revoke', '--jti', id])
      expect(thing).toEqual({ kind: 'jti', id })
    }
    expect((await admin(['revoke', '--jti', '--json'])).code).toBe(2)
  })
})

describe('nodes', () => {
  it('are listed with their state, and none moves the cursor', async () => {
    await attest(nodeA, { version: '1.0\u001b[2J' })
    await attest(nodeB)
    await revokeCertificate({ store, clock: systemClock, pool: { note: () => {} } }, nodeB)
    const { text } = await admin(['nodes', 'list'])
    expect(text).toMatch(new RegExp(`${nodeA}  attested`))
    expect(text).toMatch(new RegExp(`${nodeB}  expired`))
    expect(text).not.toContain('\u001b')
    expect((await admin(['nodes', 'show', `0x${'9'.repeat(40)}`])).code).toBe(1)
  })

  it('lose their certificate by a revocation', async () => {
    await attest(nodeA)
    await attest(nodeB)
    expect(await json(['revoke', nodeA])).toEqual({ address: nodeA, revoked: true })
    expect([await isAttested(nodeA), await isAttested(nodeB)]).toEqual([false, true])
    expect(await json(['revoke', nodeA])).toEqual({ address: nodeA, revoked: false })
  })

  it('are banned, known or not, until they are not', async () => {
    await attest(nodeA)
    const stranger = `0x${'5'.repeat(40)}`
    expect(
      (await admin(['ban', nodeA.toUpperCase().replace('X', 'x'), '--reason', 'lies'])).code,
    ).toBe(0)
    expect((await admin(['ban', stranger, '--reason', 'lies'])).code).toBe(0)
    expect(await isAttested(nodeA)).toBe(false)
    expect((await admin(['ban', nodeA, '--reason', 'again'])).code).toBe(1)
    const listed = await json(['nodes', 'list'])
    expect(listed.map((node: { ban: { reason: string } }) => node.ban.reason)).toEqual([
      'lies',
      'lies',
    ])
    expect((await admin(['unban', stranger])).code).toBe(0)
    expect((await admin(['unban', stranger])).code).toBe(1)
    expect(await json(['nodes', 'list'])).toHaveLength(1)
  })

  it('give up the TPM that is bound to them', async () => {
    const ek = 'ab'.repeat(32)
    const bind = () =>
      store.save({
        kind: 'key',
        key: `ek:${ek}`,
        value: nodeA,
        now: 0,
        expiresAt: Date.now() + hour,
      })
    await bind()
    expect((await admin(['release-ek', nodeB])).code).toBe(1)
    expect(await json(['release-ek', nodeA])).toEqual([{ id: ek, address: nodeA }])
    const { code, error } = await admin(['release-ek', nodeA])
    expect(code).toBe(1)
    expect(error).toContain('Nothing is bound')
    await bind()
    expect(await json(['release-ek', `0x${ek.toUpperCase()}`])).toHaveLength(1)
    expect(await store.listKeys('ek:', 0)).toEqual([])
  })
})

describe('signing keys', () => {
  it('are rotated once a minute, and listed', async () => {
    expect(await json(['keys', 'rotate'])).toMatchObject({ generation: 2 })
    expect((await admin(['keys', 'rotate'])).code).toBe(1)
    const { generations } = await json(['keys', 'list'])
    expect(generations).toHaveLength(2)
    expect((await admin(['keys', 'list'])).text).toContain('the start')
  })

  it('are withdrawn by their name', async () => {
    const publish = async (byte: number) => {
      const keys = await createKeyring({ store, clock: systemClock }, new Uint8Array(32).fill(byte))
      await keys.refresh()
      return keys.tally
    }
    const { thumbprint } = await publish(0)
    const refused = await admin(['keys', 'withdraw', thumbprint])
    expect([refused.code, refused.error]).toEqual([
      1,
      expect.stringMatching(/is the only EdDSA key: .*\nhint: Run `keys rotate`/),
    ])
    await publish(1)
    expect(await json(['keys', 'withdraw', thumbprint])).toEqual({ kid: thumbprint })
    expect((await admin(['keys', 'withdraw', thumbprint])).code).toBe(1)
    type Listed = { kid: string; withdrawn: boolean; generation: number }
    const listed: Listed[] = (await json(['keys', 'list'])).keys
    expect(listed.map(({ generation }) => generation)).toEqual([1, 1, 1, 1])
    expect((await admin(['keys', 'list'])).text).toMatch(/EdDSA +1 +20/)
    expect(listed.filter(({ withdrawn }) => withdrawn).map(({ kid }) => kid)).toEqual([thumbprint])
  })
})

it('effects are listed, and retried before they are due', async () => {
  const pending = (id: number, dueAt: number): PendingEffect => ({
    id,
    effect: { type: 'commit-result' },
    attempts: 7,
    dueAt,
    error: 'no gas',
  })

  const job = { ...sampleJob(), outbox: [pending(1, 5), pending(2, Date.now() + hour)] }
  await store.save({ kind: 'job', job, base: 0 })
  const listed = await json(['effects', 'list'])
  expect(listed).toHaveLength(2)
  expect(listed[1]).toMatchObject({
    jobId: job.id,
    effect: 'commit-result',
    attempts: 7,
    error: 'no gas',
  })
  expect(await json(['effects', 'list', '--limit', '1'])).toHaveLength(1)
  expect((await admin(['effects', 'retry', `0x${'9'.repeat(64)}`])).code).toBe(1)
  expect(await json(['effects', 'retry', job.id])).toEqual({ retried: 1 })
  const outbox = (await store.findJob(job.id))?.document.outbox ?? []
  expect(outbox[0]?.dueAt).toBe(5)
  expect(outbox[1]?.dueAt).toBeLessThanOrEqual(Date.now())
  expect(await json(['effects', 'retry'])).toEqual({ retried: 0 })
})

it('a job that cannot be read does not keep the effects of others from being listed and retried', async () => {
  const dueAt = Date.now() + hour
  const outbox = [{ id: 1, effect: { type: 'commit-result' } as const, attempts: 0, dueAt }]
  const [job, damaged] = ['8', '9'].map((digit) => ({
    ...sampleJob(),
    id: aJobId(`0x${digit.repeat(64)}`),
    outbox,
  }))
  for (const one of [job!, damaged!]) await store.save({ kind: 'job', job: one, base: 0 })
  await store.close()
  const db = new DatabaseSync(file)
  db.prepare("UPDATE jobs SET document = '{' WHERE id = ?").run(damaged!.id)
  db.close()
  const listed = await admin(['effects', 'list'])
  expect([listed.code, listed.text]).toEqual([0, expect.stringContaining(job!.id)])
  expect(listed.error).toContain(damaged!.id)
  expect((await admin(['effects', 'retry'])).text).toContain('1 effects are due now')
})

it('the audit has every change, the newest first, and who made it', async () => {
  await attest(nodeA)
  await admin(['revoke', nodeA])
  await admin(['ban', nodeA, '--reason', 'two words'])
  await admin(['stats'])
  const entries = await json(['audit'])
  expect(entries.map(({ command }: { command: string }) => command)).toEqual([
    `ban ${nodeA} --reason "two words"`,
    `revoke ${nodeA}`,
  ])
  expect(entries[0].operator).toMatch(/@/)
  expect(await json(['audit', '--limit', '1'])).toHaveLength(1)
})

it('names who gave a command also where the environment does not', async () => {
  const { USER, LOGNAME } = process.env
  delete process.env.USER
  delete process.env.LOGNAME
  try {
    await admin(['revoke', nodeA])
    const [entry] = await json(['audit'])
    expect(entry.operator).not.toMatch(/unknown/)
  } finally {
    if (USER !== undefined) process.env.USER = USER
    if (LOGNAME !== undefined) process.env.LOGNAME = LOGNAME
  }
})

describe('a backup', () => {
  const fill = async () => {
    await store.save({ kind: 'job', job: { ...sampleJob(), modelId: 'x:\u2028é' }, base: 0 })
    await attest(nodeA)
    const at = Date.now()
    const event = {
      id: 'e',
      node: nodeA,
      jobId: sampleJob().id,
      code: 'answer-delivered' as const,
      at,
    }
    await store.save({ kind: 'event', event })
    await store.save({ kind: 'key', key: 'k', value: 'v', now: 0, expiresAt: at + hour })
    await store.save({ kind: 'key', key: 'replica:1', value: 'v', now: 0, expiresAt: at + hour })
    const bytes = new Uint8Array(1024 * 1024).map((_, index) => index * 7)
    await store.save({ kind: 'blob', cid: 'c', bytes, uploader: 'kubo-node', until: at + hour })
  }
  const recordsOf = async (from: Store) => {
    const records: StoreRecord[] = []
    for await (const record of from.scan()) {
      if (record.kind !== 'key' || record.key === 'k') records.push(record)
    }
    return records
  }

  it('is made while an ICL has the database, and gives all of it to another', async () => {
    await fill()
    const backup = join(folder, 'backup')
    const { records } = await json(['backup', backup])
    expect(statSync(backup).mode & 0o777).toBe(0o600)
    expect((await admin(['backup', backup])).error).toContain('already')
    const other = join(folder, 'other.db')
    const restored = await admin(['restore', backup, '--json'], `sqlite:${other}`)
    expect(JSON.parse(restored.text)).toMatchObject({ records, restored: records, left_out: 0 })
    const copy = await openSqliteStore(other)
    expect(await recordsOf(copy)).toEqual(await recordsOf(store))
    expect(await copy.listKeys('replica:', 0)).toEqual([])
    await copy.close()
    const again = await admin(['restore', backup], `sqlite:${other}`)
    expect([again.code, again.error]).toEqual([1, expect.stringContaining('not empty')])
    const merged = await admin(['restore', backup, '--merge', '--json'], `sqlite:${other}`)
    expect(JSON.parse(merged.text)).toMatchObject({ restored: 0, left_out: records })
  })

  it('that is merged counts for the nodes that are there, however old its events are', async () => {
    await fill()
    const backup = join(folder, 'backup')
    await admin(['backup', backup])
    const [event] = await store.listReputationEvents(nodeA, { limit: 1 })
    const other = await openSqliteStore(join(folder, 'other.db'))
    const before = Math.ceil(event!.at / 1000) + 1
    const node = {
      ...attestedNode(nodeA, certificate(0), sampleReading),
      folded: { ...emptyFold, before },
    }
    await other.save({ kind: 'node', node, base: 0 })
    await other.close()
    const { text } = await admin(
      ['restore', backup, '--merge'],
      `sqlite:${join(folder, 'other.db')}`,
    )
    expect(text).toContain('Repeat the bans')
    const merged = await openSqliteStore(join(folder, 'other.db'))
    const { document } = (await merged.findNode(nodeA))!
    await merged.close()
    expect(document.standing).toEqual(standingOf([event!]))
    expect(document.folded).toBeUndefined()
  })

  it('is refused by a database that an ICL uses', async () => {
    const backup = join(folder, 'backup')
    await admin(['backup', backup])
    expect((await admin(['restore', backup, '--merge'])).error).toContain('Another ICL uses')
  })

  it('is not made when a record takes a line that no restore would read', async () => {
    const value = 'v'.repeat(17 * 1024 * 1024)
    await store.save({ kind: 'key', key: 'long', value, now: 0, expiresAt: Date.now() + hour })
    const backup = join(folder, 'backup')
    const { code, error } = await admin(['backup', backup])
    expect([code, error]).toEqual([1, expect.stringContaining('too long to be restored')])
    expect(readdirSync(folder).filter((name) => name.startsWith('backup'))).toEqual([])
  })

  it('that cannot be restored to its end leaves a trace in the audit, and says that a part is there', async () => {
    const header = JSON.stringify({
      format: 'svc-icl-backup',
      version: 1,
      madeAt: new Date(0).toISOString(),
      madeBy: 'x',
    })
    const document = JSON.stringify({ address: nodeA })
    const key = { kind: 'key', key: 'k', value: 'v', expiresAt: Date.now() + hour }
    const records = Array.from({ length: 40 }, (_, index) => ({ ...key, key: `k${index}` }))
    const lines = [...records, { kind: 'node', version: 1, document }]
    const head = [header, ...lines.map((line) => JSON.stringify(line)), ''].join('\n')
    const sha256 = createHash('sha256').update(head).digest('hex')
    const backup = join(folder, 'backup')
    writeFileSync(backup, `${head}${JSON.stringify({ end: true, records: 41, sha256 })}\n`)
    const other = `sqlite:${join(folder, 'other.db')}`
    const { code, error } = await admin(['restore', backup], other)
    expect([code, error]).toEqual([
      1,
      expect.stringContaining('may hold only a part of the backup'),
    ])
    expect(error).toContain('--merge')
    expect((await admin(['audit'], other)).text).toContain(`restore ${backup}`)
  })

  it('of another format is told from one that is not whole', async () => {
    await fill()
    const backup = join(folder, 'backup')
    await admin(['backup', backup])
    const later = readFileSync(backup, 'utf8').replace('"version":1', '"version":2')
    writeFileSync(backup, later.replace(/"madeBy":"[^"]*"/, '"madeBy":"9.9.9\\u001b[2J"'))
    const { code, error } = await admin(['restore', backup], `sqlite:${join(folder, 'other.db')}`)
    expect([code, error]).toEqual([
      1,
      expect.stringContaining('has format 2, and this program reads format 1'),
    ])
    expect(error).toContain('9.9.9')
    expect(error).not.toContain('\u001b')
  })

  it('that this user cannot read is not called damaged', async () => {
    const { code, error } = await admin(['restore', folder], `sqlite:${join(folder, 'other.db')}`)
    expect([code, error]).toEqual([1, expect.stringContaining(`${folder} cannot be read`)])
    expect(error).not.toMatch(/not whole|another backup/)
  })

  it('is used whole or not at all', async () => {
    await fill()
    const backup = join(folder, 'backup')
    await admin(['backup', backup])
    const whole = readFileSync(backup, 'utf8')
    const lines = whole.split('\n')
    const changes: Record<string, string> = {
      'a changed byte': whole.replace('"v"', '"w"'),
      'a missing line': [...lines.slice(0, 2), ...lines.slice(3)].join('\n'),
      'a missing end': lines.slice(0, -2).join('\n'),
      'a cut end': whole.slice(0, -1),
      'more behind the end': `${whole}{}\n`,
      'another format': whole.replace('svc-icl-backup', 'other-backup'),
      nothing: '',
    }
    for (const [name, text] of Object.entries(changes)) {
      const broken = join(folder, 'broken')
      writeFileSync(broken, text)
      const other = join(folder, `${name}.db`)
      const { code, error } = await admin(['restore', broken], `sqlite:${other}`)
      expect([name, code, error]).toEqual([name, 1, expect.stringContaining('not whole')])
      expect(existsSync(other)).toBe(false)
    }
    const other = join(folder, 'n.db')
    const { code, error } = await admin(['restore', join(folder, 'none')], `sqlite:${other}`)
    expect([code, error]).toEqual([1, expect.stringContaining('There is no file')])
    expect(existsSync(other)).toBe(false)
  })
})

it('the store is counted and pruned', async () => {
  const settledAt = Date.now() - 48 * hour
  const settled = { ...sampleJob(), phase: 'accepted' as const, settledAt, outbox: [] }
  await store.save({ kind: 'job', job: settled, base: 0 })
  await store.save({ kind: 'key', key: 'k', value: 'v', now: 0, expiresAt: 5 })
  for (const uploader of ['node', 'kubo-node'] as const) {
    const blob = {
      kind: 'blob',
      cid: uploader,
      bytes: new Uint8Array(),
      size: 3,
      uploader,
    } as const
    await store.save({ ...blob, until: Date.now() + hour })
  }
  await attest(nodeB)
  await banNode({ store, clock: systemClock, pool: { note: () => {} } }, nodeA, 'x')
  expect(await json(['stats'])).toMatchObject({
    jobs: { accepted: 1 },
    nodes_attested: 1,
    nodes_banned: 1,
    blob_bytes: { wallets: 0, nodes: 6, icl: 0 },
  })
  expect(await json(['prune', '--days', '3'])).toEqual({ records: 1 })
  expect(await json(['prune', '--days', '1'])).toEqual({ records: 1 })
  expect(await store.findJob(settled.id)).toBeUndefined()
})
