import { SvcError } from '../../../lib/svc-error.ts'
import type { StoreRecord } from '../store.ts'

/** The kind of a record. */
export type Kind = StoreRecord['kind']

/** The present state of a record with the number of its last change; undefined for a record that is gone. */
export type Mirrored = {
  readonly kind: Kind
  readonly id: string
  readonly seq: number
  readonly record: StoreRecord | undefined
  /** Why the record cannot be read. */
  readonly error?: unknown
}

/** Who may write to a database: an ICL that is alone, with its store in a file or in memory, or several that share the database. */
export type Owner = {
  readonly kind: 'file' | 'memory' | 'shared'
  /** The id of the file; `shared` for several ICLs. */
  readonly file: string
  /** Tells the operator where the file is. */
  readonly name: string
  /** The process of the owner that wrote last. */
  readonly mark: string
  /** The highest number that the database may have. */
  readonly head: number
  /** Grows every few seconds while the owner runs and reaches the database. */
  readonly beats: number
  /** True once the owner has stopped in order, with everything in the database. */
  readonly isFree: boolean
}

/** A database that follows a file. Its calls throw ProblemError `unavailable` while it is away, and may be repeated. */
export interface Follower {
  owner(): Promise<Owner | undefined>
  /** Replaces the owner, unless it is another than `before` by now, or has beaten since: then false. */
  claim(before: Owner | undefined, next: Owner): Promise<boolean>
  /** Marks the database as free, unless its owner is another. */
  release(owner: Owner): Promise<void>
  /**
   * Takes each state unless it has a higher number of that record, even when the record is gone. First notes that it may have numbers up
   * to `to`. Returns false when the owner is another or free, or its head is not between `from` and `to`: then no state is taken.
   */
  put(
    owner: Owner,
    heads: { readonly from: number; readonly to: number },
    states: readonly Mirrored[],
  ): Promise<boolean>
  /** Deletes rows with numbers up to one, or without, page by page: yields after each. */
  sweep(upTo: number): AsyncIterable<void>
  /** Deletes rows of records that are gone since before a time, page by page: yields after each. */
  forget(before: number): AsyncIterable<void>
  scan(): AsyncIterable<StoreRecord>
  /** Ends the calls under way, and connects anew for the next one. */
  drop(): void
  close(): Promise<void>
}

/** How often an owner shows that it runs, in milliseconds. */
export const beatMs = 5_000
/** How long to watch whether an owner still runs, in milliseconds. */
export const watchMs = 4 * beatMs

/** What the file knows of itself and of the database. */
export type Facts = {
  readonly file: string
  /** The processes that had the file, in order, each with the number of the last change before it. */
  readonly marks: readonly { readonly mark: string; readonly since: number }[]
  /** The number of the last change. */
  readonly seq: number
  /** Up to this number the database has had everything. */
  readonly sent: number
  readonly isFilled: boolean
}

/** What to do about a database: `resend` everything to one that lacks something, `fill` the file, or see whether its owner runs (`watch`). */
export type Plan = 'follow' | 'resend' | 'fill' | 'watch'

/** Decides what to do about a database. Throws SvcError `store-locked`, `store-behind` or `store-foreign`, with the remedy. */
export function planFor(facts: Facts, owner: Owner | undefined, isEmpty: boolean): Plan {
  if (owner?.file === facts.file) {
    if (!isPrefix(facts, owner)) throw behind()
    return owner.head < facts.sent ? 'resend' : 'follow'
  }
  if (owner?.kind === 'file' && !owner.isFree) throw lockedBy(owner)
  if (!facts.isFilled) return owner && !owner.isFree ? 'watch' : 'fill'
  if (owner || !isEmpty) throw foreign(owner)
  return facts.sent > 0 ? 'resend' : 'follow'
}

/** True when all that the database has are states of this file: its owner is a process that had the file, and its head one of that process. */
function isPrefix({ marks, seq }: Facts, { mark, head }: Owner): boolean {
  const at = marks.findIndex((known) => known.mark === mark)
  return at >= 0 && head <= (marks[at + 1]?.since ?? seq)
}

const behind = () =>
  new SvcError('store-behind', 'The database has saves that this file lacks: the file is older', {
    hint: 'Put the newest file in its place. If it is lost, move this one away: the next start fills a new file from the database.',
  })

const foreign = (owner: Owner | undefined) =>
  new SvcError(
    'store-foreign',
    `The database is not the one of this file${owner ? `: ${owner.name} was its last owner` : ''}`,
    {
      hint: 'Correct SVC_ICL_DATABASE_URL. To go on with this database, move the file away: the next start fills a new one. What only the old file has is then not served.',
    },
  )

/** Returns the error for a database that another ICL has for itself. */
export const lockedBy = ({ name }: Owner) =>
  new SvcError('store-locked', `Another ICL has this database (${name})`, {
    hint: 'Stop it, or set SVC_ICL_REPLICAS on every ICL to how many there are. Commands of the operator run where its file is. If it and its file are lost, run `npm run icl -- admin unlock`.',
  })
