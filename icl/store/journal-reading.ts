import type { FileHandle } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { SvcError } from '../../lib/svc-error.ts'
import type { JournalWrite } from './journal.ts'
import { decodeHeld, decodeWrite, JournalLine } from './journal-lines.ts'

const chunkBytes = 1024 * 1024
const newline = 0x0a

/** What a journal's lines add up to: where they end, the last write, and the last that the database holds. */
export type JournalState = { end: number; written: number; replayed: number }

/** A place in a journal: all writes up to `seq` lie before `offset`. */
export type Bookmark = { readonly seq: number; readonly offset: number; readonly number: number }

/** A line of a journal: its checksum, its content. */
export const journalLine = (json: string): string => `${checksum(json)} ${json}\n`

const checksum = (json: string | Uint8Array): string => crc32(json).toString(16).padStart(8, '0')

type RawLine = { readonly number: number; readonly end: number; readonly json: string | undefined }

/** The lines between two places of a file; one whose checksum is wrong has no text. */
async function* rawLines(
  handle: FileHandle,
  to: number,
  from: Pick<Bookmark, 'offset' | 'number'> = { offset: 0, number: 0 },
): AsyncGenerator<RawLine> {
  let rest = Buffer.alloc(0)
  let number = from.number
  let end = from.offset
  for (let position = from.offset; position < to; ) {
    const chunk = Buffer.alloc(Math.min(chunkBytes, to - position))
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, position)
    if (bytesRead === 0) break
    position += bytesRead
    rest = Buffer.concat([rest, chunk.subarray(0, bytesRead)])
    for (let at = rest.indexOf(newline); at >= 0; at = rest.indexOf(newline)) {
      end += at + 1
      yield { number: ++number, end, json: checked(rest.subarray(0, at)) }
      rest = rest.subarray(at + 1)
    }
  }
  if (rest.length > 0) yield { number: ++number, end: end + rest.length, json: undefined }
}

function checked(bytes: Buffer): string | undefined {
  const json = bytes.subarray(9)
  return bytes.subarray(0, 9).toString() === `${checksum(json)} ` ? json.toString() : undefined
}

const damaged = (path: string, number: number, why: string): SvcError =>
  new SvcError('journal-damaged', `The journal ${path} is damaged at line ${number}: ${why}`, {
    hint: 'It holds writes that were acknowledged. Keep a copy. docs/operations.md, "When the database is away", says what to do.',
  })

function parse(path: string, { number, json }: RawLine): JournalLine {
  if (json === undefined) throw damaged(path, number, 'its checksum is wrong')
  const parsed = JournalLine.safeParse(JSON.parse(json))
  if (parsed.success) return parsed.data
  throw damaged(path, number, parsed.error.issues[0]?.message ?? 'it has another form')
}

/** Checks every line; only what the last flush wrote may be torn, since nothing of it was acknowledged. */
export async function verifyJournal(handle: FileHandle, path: string): Promise<JournalState> {
  const state: JournalState = { end: 0, written: 0, replayed: 0 }
  let isWhole = false
  let torn: number | undefined
  for await (const raw of rawLines(handle, (await handle.stat()).size)) {
    if (raw.json === undefined) {
      torn ??= raw.number
      continue
    }
    if (torn !== undefined) throw damaged(path, torn, 'its checksum is wrong')
    const content = parse(path, raw)
    if (content.type === 'begun') isWhole = true
    if (content.type === 'replayed') state.replayed = content.through
    if (content.type === 'writes') {
      if (content.first !== state.written + 1) throw damaged(path, raw.number, 'writes are missing')
      state.written += content.writes.length
    }
    state.end = raw.end
  }
  if (!isWhole) throw damaged(path, torn ?? 1, 'it has no beginning')
  return state
}

/** What was known when the journal was begun. */
export async function* readHeldRecords(handle: FileHandle, path: string, to: number) {
  for await (const raw of rawLines(handle, to)) {
    const content = parse(path, raw)
    if (content.type === 'held') yield* content.held.map(decodeHeld)
    if (content.type === 'begun') return
  }
}

/** The writes after `seq` up to a place; returns where a later reading may start. */
export async function* readJournalWrites(
  handle: FileHandle,
  path: string,
  after: number,
  to: number,
  from: Bookmark,
): AsyncGenerator<JournalWrite, Bookmark> {
  let reached = from
  for await (const raw of rawLines(handle, to, from)) {
    const content = parse(path, raw)
    let { seq } = reached
    if (content.type === 'writes') {
      for (const { id, write } of content.writes) {
        seq++
        if (seq > after) yield { seq, id, write: decodeWrite(write) }
      }
    }
    reached = { seq, offset: raw.end, number: raw.number }
  }
  return reached
}
