import type { JobOrigin, StoreRecord, Write } from './store.ts'

/**
 * What was known when the database went away: open jobs, nodes, clients, keys, the ids of all other jobs, and the saves that had been
 * sent and not answered.
 */
export type HeldRecord =
  | MirrorRecord
  | { readonly kind: 'attempt'; readonly id: string; readonly write: Write }

/** What a mirror holds. */
export type MirrorRecord =
  | Extract<StoreRecord, { kind: 'job' | 'node' | 'client' | 'key' }>
  | ({ readonly kind: 'job-origin' } & JobOrigin)

/** A write that was acknowledged while the database was away; `seq` counts from 1. */
export type JournalWrite = { readonly seq: number; readonly id: string; readonly write: Write }

/**
 * What outlives the process while the database is away: first everything that was known, then every acknowledged write in
 * order. Whatever resolves has reached the disk.
 */
export interface Journal {
  /** Where it lies, for the operator. */
  readonly path: string
  /** True from `begin` to `clear`, restarts included. */
  readonly begun: boolean
  /** The `seq` of the last write; 0 when there is none. */
  readonly written: number
  /** The `seq` up to which the database is known to hold the writes. */
  readonly replayed: number
  /** Starts with what is known; either all of it is kept or nothing. */
  begin(held: AsyncIterable<HeldRecord>): Promise<void>
  /** Adds a write; throws SvcError `journal-full` when the disk does not take it. */
  append(id: string, write: Write): Promise<void>
  /** What was known at the beginning. */
  readHeld(): AsyncIterable<HeldRecord>
  /** The writes after `seq`, in order, that are there by now. */
  readWrites(seq: number): AsyncIterable<JournalWrite>
  /** Notes that the database holds all writes up to `seq`. */
  mark(seq: number): Promise<void>
  /** Forgets everything. */
  clear(): Promise<void>
  close(): Promise<void>
}
