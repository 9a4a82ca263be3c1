/*
 * Problem: a job is saved some twenty times while it runs, and a database may take twenty saves a second. A minute without
 * it must not take ten minutes to catch up with.
 *
 * Idea: nobody reads the database before it has everything. So the saves of one document are merged into one: it goes from
 * the version that the first was made on to the version that the last gave it, with whatever else they write. The merged
 * save has the id of the last.
 *
 * Invariants:
 * - What may have been sent is never merged: the database may have it under its id.
 * - The saves of each key and blob keep their order. A save that would overtake another of its own begins a new merged one.
 * - A merged save is about as small as any, so that it takes no longer than a call to the database may.
 */

import { documentIn, versionOf, type Write } from '../store.ts'
import { lockOf } from './locks.ts'

/** A save that the database may not have, in the order of `seq`. */
export type Pending = {
  readonly seq: number
  readonly id: string
  readonly writes: readonly Write[]
  /** It may have been sent under its id. */
  readonly isTried: boolean
}

/** What several saves come to: it stands in the place of one of them. */
export type Merged = Pending & {
  /** Of all that it stands for. */
  readonly seqs: readonly number[]
}

const mostWrites = 16

/** Merges saves that are given in their order; what comes of it has to be done in the order that it has. */
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
      // Either the later one overtakes nobody when it goes back, or the earlier one nobody when it comes along.
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

/** What a save is merged by: its document, or the blob that is all it writes. */
function mainOf(writes: readonly Write[]): string | undefined {
  const document = documentIn(writes)
  if (document) return lockOf(document)
  const [write, ...others] = writes
  return write && others.length === 0 && isOfBlob(write) ? lockOf(write) : undefined
}

type BlobWrite = Extract<Write, { kind: 'blob' | 'keep-blob' }>

const isOfBlob = (write: Write): write is BlobWrite =>
  write.kind === 'blob' || write.kind === 'keep-blob'

/** Both as one; undefined when that would be too much, or when they write the same otherwise than by one write. */
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
    return { ...later, base: earlier.base, version: versionOf(later) }
  }
  if (!isOfBlob(earlier) || !isOfBlob(later)) return undefined
  const until = Math.max(earlier.until, later.until)
  return { ...(earlier.kind === 'blob' ? earlier : later), until }
}
