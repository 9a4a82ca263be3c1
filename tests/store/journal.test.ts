import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { HeldRecord } from '../../icl/store/journal.ts'
import { openJournalFile } from '../../icl/store/journal-file.ts'
import { openJournalFolder } from '../../icl/store/journal-folder.ts'
import type { Write } from '../../icl/store/store.ts'
import { systemRandom } from '../../lib/system.ts'
import { aJobId, anAddress } from '../branded.ts'
import { jobOf } from './fallback-world.ts'

async function* none(): AsyncGenerator<HeldRecord> {}
const listed = async <T>(items: AsyncIterable<T>): Promise<readonly T[]> => {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}
const key = (name: string): Write => ({ kind: 'key', key: name, value: 'v', now: 0, expiresAt: 1 })
const writes: readonly Write[] = [
  { kind: 'job', job: jobOf('1', { clientNonce: 2n ** 255n }), base: 3 },
  { kind: 'blob', cid: 'c', bytes: new Uint8Array([0, 10, 255]), uploader: 'node', until: 5 },
  { kind: 'keep-blob', cid: 'c', until: 9 },
  key('a\nb'),
  { kind: 'release-key', key: 'k', value: 'v' },
  {
    kind: 'event',
    event: {
      id: 'e',
      node: anAddress(`0x${'1'.repeat(40)}`),
      jobId: aJobId(`0x${'2'.repeat(64)}`),
      code: 'answer-delivered',
      at: 1,
    },
  },
]

describe('a journal in a file', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-journal-'))
  })
  afterEach(() => rm(folder, { recursive: true }))
  const reopen = async () => {
    const journal = await openJournalFile(folder)
    return { journal, names: async () => (await listed(journal.readWrites(0))).map(({ id }) => id) }
  }
  const filled = async (ids: readonly string[]) => {
    const journal = await openJournalFile(folder)
    await journal.begin(none())
    for (const id of ids) await journal.append(id, key(id))
    return journal
  }
  const file = () => join(folder, 'journal')

  it('gives back after a restart what it was given', async () => {
    const held: readonly HeldRecord[] = [
      ...Array.from(
        { length: 450 },
        (_, version) => ({ kind: 'job', job: jobOf('2'), version }) as const,
      ),
      { kind: 'key', key: 'k', value: 'v', expiresAt: 9 },
      { kind: 'job-origin', id: jobOf('3').id, client: jobOf('3').client, createdAt: 4 },
      { kind: 'attempt', id: 'w', write: writes[1]! },
    ]
    const first = await openJournalFile(folder)
    expect(first.begun).toBe(false)
    await first.begin(
      (async function* () {
        yield* held
      })(),
    )
    await Promise.all(writes.map((write, index) => first.append(`w${index}`, write)))
    await first.close()
    const { journal } = await reopen()
    expect([journal.begun, journal.written, journal.replayed]).toEqual([true, 6, 0])
    expect(await listed(journal.readHeld())).toEqual([...held])
    expect(await listed(journal.readWrites(0))).toEqual(
      writes.map((write, index) => ({ seq: index + 1, id: `w${index}`, write })),
    )
    expect((await stat(file())).mode & 0o777).toBe(0o600)
    await journal.close()
  })

  it('takes writes that come together to the disk together', async () => {
    const journal = await filled([])
    await Promise.all(
      Array.from({ length: 500 }, (_, index) => journal.append(`w${index}`, key('k'))),
    )
    const lines = (await readFile(file(), 'utf8')).trimEnd().split('\n')
    expect(lines.length).toBeLessThan(20)
    expect((await listed(journal.readWrites(0))).map(({ id }) => id)).toEqual(
      Array.from({ length: 500 }, (_, index) => `w${index}`),
    )
    await journal.close()
  })

  it('knows what is replayed, reads on from there, and forgets all at the end', async () => {
    const first = await filled(['a', 'b', 'c'])
    expect((await listed(first.readWrites(1))).map(({ id }) => id)).toEqual(['b', 'c'])
    await first.append('d', key('d'))
    expect((await listed(first.readWrites(3))).map(({ id }) => id)).toEqual(['d'])
    expect((await listed(first.readWrites(0))).map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd'])
    await first.mark(2)
    await first.append('e', key('e'))
    await first.close()
    const { journal } = await reopen()
    expect([journal.written, journal.replayed]).toEqual([5, 2])
    await journal.clear()
    expect(journal.begun).toBe(false)
    expect(await readdir(folder)).toEqual([])
    await journal.begin(none())
    await journal.append('f', key('f'))
    expect((await listed(journal.readWrites(0))).map(({ seq, id }) => `${seq}${id}`)).toEqual([
      '1f',
    ])
    await journal.close()
  })

  it('does without the last flush wherever it was torn, and goes on after it', async () => {
    const first = await filled(['a', 'b'])
    const whole = (await stat(file())).size
    await first.append('c', key('c'))
    await first.close()
    const bytes = await readFile(file())
    for (let size = whole; size < bytes.length; size += 7) {
      await writeFile(file(), bytes.subarray(0, size))
      const { journal, names } = await reopen()
      expect(await names()).toEqual(['a', 'b'])
      await journal.append('d', key('d'))
      await journal.close()
      const again = await reopen()
      expect(await again.names()).toEqual(['a', 'b', 'd'])
      await again.journal.close()
    }
    // A disk may have kept the length of what it was to write, without the content.
    await writeFile(file(), Buffer.concat([bytes.subarray(0, whole), Buffer.alloc(5_000)]))
    const { journal, names } = await reopen()
    expect(await names()).toEqual(['a', 'b'])
    await journal.append('d', key('d'))
    await journal.close()
    expect((await stat(file())).size).toBeLessThan(whole + 500)
  })

  it('is refused with its place when anything else is damaged', async () => {
    await (await filled(['a', 'b', 'c'])).close()
    const bytes = await readFile(file())
    const lines = bytes.toString().trimEnd().split('\n')
    // Every byte of every line but the last one counts.
    const last = bytes.length - `${lines.at(-1)}\n`.length
    for (let at = 0; at < last; at += 11) {
      const changed = Buffer.from(bytes)
      changed[at] = changed[at]! ^ 1
      await writeFile(file(), changed)
      await expect(openJournalFile(folder)).rejects.toMatchObject({ code: 'journal-damaged' })
    }
    await writeFile(file(), `${[...lines.slice(0, 3), ...lines.slice(4)].join('\n')}\n`)
    await expect(openJournalFile(folder)).rejects.toThrow(
      /journal is damaged at line 4: writes are missing/,
    )
    await writeFile(file(), '')
    await expect(openJournalFile(folder)).rejects.toThrow(/line 1: it has no beginning/)
  })

  it('is not begun until its beginning is whole', async () => {
    await writeFile(join(folder, 'journal.new'), 'half of a beginning')
    const journal = await openJournalFile(folder)
    expect(journal.begun).toBe(false)
    const breaks = async function* (): AsyncGenerator<HeldRecord> {
      yield { kind: 'key', key: 'k', value: 'v', expiresAt: 9 }
      throw new Error('stopped')
    }
    await expect(journal.begin(breaks())).rejects.toThrow('stopped')
    expect(journal.begun).toBe(false)
    await journal.begin(none())
    await journal.append('a', key('a'))
    await journal.close()
  })

  it('says when the disk does not take a write', async () => {
    const journal = await filled(['a'])
    await journal.close()
    await expect(journal.append('b', key('b'))).rejects.toMatchObject({ code: 'journal-full' })
    const again = await reopen()
    expect(await again.names()).toEqual(['a'])
    await again.journal.close()
  })
})

describe('a folder with a journal', () => {
  it('belongs to one process, which keeps its name over restarts', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-journal-'))
    const first = await openJournalFolder(folder, systemRandom)
    await expect(openJournalFolder(folder, systemRandom)).rejects.toMatchObject({
      code: 'journal-locked',
    })
    await first.journal.close()
    const second = await openJournalFolder(folder, systemRandom)
    expect(second.replicaId).toBe(first.replicaId)
    await second.journal.close()
    await rm(folder, { recursive: true })
  })

  it('is refused where none can be', async () => {
    await expect(openJournalFolder('/dev/null/journal', systemRandom)).rejects.toMatchObject({
      code: 'journal-unusable',
    })
  })
})
