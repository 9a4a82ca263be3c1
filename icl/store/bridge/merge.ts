/*
 * Problem: a job is saved some twenty times while it runs, and a database may accept twenty saves a second. An outage of a
 * minute must not take ten minutes to replay.
 *
 * Idea: no caller reads the database before the replay is complete, so the saves of one document are merged into one. It
 * goes from the base version of the first to the version of the last, under the id of the last, with all other writes.
 *
 * Invariants:
 * - A save that may have been sent is never merged: the database may have it under its id.
 * - A save is not merged where it would overtake an earlier one of its keys or blobs.
 * - A merged save stays small (16 writes at most), so that it fits into the time limit of a call to the database.
 */

import { documentIn, longerKeep, recordBy, type Write } from '../store.ts'
import { lockOf } from './locks.ts'

/** A save that the database may not have, in the order of `seq`. */
export type Pending = {
  readonly seq: number
  readonly id: string
  readonly writes: readonly Write[]
  /** It may have been sent under its id. */
  readonly isTried: boolean
}

/** Several saves merged into one, which has the `seq` of one of them. */
export type Merged = Pending & {
  /** The `seq` of every save that it replaces. */
  readonly seqs: readonly number[]
}

const mostWrites = 16

/** Merges saves that are ordered by `seq`. The caller must replay the result in the order in which it is returned. */
export function mergePending(rows: readonly Pending[]): readonly Merged[] {
  const bySeq = new Map<number, Merged>()
  const latest = new Map<string, Merged>()
  const lastOf = new Map<string, number>()
  for (const row of rows) {
    const main = mainOf(row.writes)
    const known = main === undefined ? undefined : latest.get(main)
    const writes = known && !known.isTried && !row.isTried && mergeWrites(known.writes, row.writes)
    let merged: Merged = { ...row, seqs: [row.seq] }
    let moved = row.writes
    if (known && writes) {
      const others = (all: readonly Write[]) => all.map(lockOf).filter((lock) => lock !== main)
      const isBehind = (lock: string) => (lastOf.get(lock) ?? 0) < known.seq
      const isOwn = (lock: string) => known.seqs.includes(lastOf.get(lock) ?? 0)
      // The later save moves back if it overtakes no other save, or else the earlier one moves along if it is not overtaken.
      const goesBack = others(row.writes).every(isBehind)
      if (goesBack || others(known.writes).every(isOwn)) {
        bySeq.delete(known.seq)
        const seq = goesBack ? known.seq : row.seq
        merged = { ...row, seq, writes, seqs: [...known.seqs, row.seq] }
        if (!goesBack) moved = writes
      }
    }
    bySeq.set(merged.seq, merged)
    if (main !== undefined) latest.set(main, merged)
    for (const write of moved) lastOf.set(lockOf(write), row.seq)
  }
  return [...bySeq.values()].toSorted((a, b) => a.seq - b.seq)
}

/** Returns what a save is merged by: its document, or its blob if it writes nothing else. */
function mainOf(writes: readonly Write[]): string | undefined {
  const document = documentIn(writes)
  if (document) return lockOf(document)
  const [write, ...others] = writes
  return write && others.length === 0 && isOfBlob(write) ? lockOf(write) : undefined
}

const isOfBlob = (write: Write) => 'cid' in write

/** Merges two saves. Undefined when the result has too many writes, or when both change a key or event and cannot be merged. */
function mergeWrites(
  earlier: readonly Write[],
  later: readonly Write[],
): readonly Write[] | undefined {
  const merged = new Map(earlier.map((write) => [lockOf(write), write]))
  for (const write of later) {
    const before = merged.get(lockOf(write))
    const both = before ? mergeWrite(before, write) : write
    if (!both) return undefined
    merged.set(lockOf(write), both)
  }
  return merged.size > mostWrites ? undefined : [...merged.values()]
}

function mergeWrite(earlier: Write, later: Write): Write | undefined {
  if ('base' in earlier && 'base' in later) {
    return { ...later, base: earlier.base, version: recordBy(later).version }
  }
  if (!isOfBlob(earlier) || !isOfBlob(later)) return undefined
  return { ...(earlier.kind === 'blob' ? earlier : later), ...longerKeep(earlier, later) }
}
