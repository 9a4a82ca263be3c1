/*
 * Problem: ICLs that share a database write to it directly. An ICL that is alone writes to its file, which the database follows: what
 * others write there meanwhile would be overwritten.
 *
 * Idea: the database names its owner: one file, or `shared`. Those who share it take part in it again before a save unless they did so
 * within the last few seconds by their own monotonic clock, and so tell a lone ICL that wants the database that they run.
 *
 * Failure case: an ICL that freezes between its look and its save for longer than a lone ICL watches (20 s) writes all the same.
 */

import { type Clock, elapsedSince, type MonotonicMs } from '../../../lib/clock.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { beforeChanges } from '../before-changes.ts'
import { notServed, unavailable } from '../mirror/connect.ts'
import { lockedBy, type Owner, watchMs } from '../mirror/follower.ts'
import type { Store } from '../store.ts'
import { createMongoConnection, defaultMongoTimeouts, type MongoConnection } from './connection.ts'
import { forget, ownersOf } from './follower.ts'
import { createMongoStore, type MongoOptions } from './store.ts'

const lookAgainMs = 4_000
const shared: Owner = {
  ...{ kind: 'shared', file: 'shared', mark: 'shared', name: 'several ICLs' },
  ...{ head: 0, beats: 0, isFree: false },
}

/** A store in a database that several ICLs share. */
export type SharedStore = Store & {
  /** Throws SvcError `store-locked` while an ICL has the database alone. */
  look(): Promise<void>
  /**
   * Frees the database of an ICL that will not come back with its file: from now on it is refused. Returns the name of that file;
   * undefined when no ICL has the database alone. Throws SvcError `store-in-use` while the ICL runs. Takes 20 s.
   */
  unlock(): Promise<string | undefined>
}

const isAlone = ({ kind }: Owner): boolean => kind !== 'shared'

/** Looks whether an ICL has a database alone, and throws SvcError `store-locked` then. Takes part in the database unless it is a guest's. */
function lookAfter(connection: MongoConnection, isGuest: boolean): () => Promise<void> {
  const { owner: find, claim, beat } = ownersOf(connection)
  return async () => {
    if (!isGuest && (await beat(shared))) return
    const owner = await find()
    // A file comes back after a stop, and would lack what a guest saves.
    const isKept = owner && isAlone(owner) && (!owner.isFree || (isGuest && owner.kind === 'file'))
    if (isKept) throw lockedBy(owner)
    // Those who share it know no rows of records that are gone.
    for await (const _ of forget(connection, Number.POSITIVE_INFINITY));
    if (isGuest) return
    const next = { ...shared, head: owner?.head ?? 0, beats: (owner?.beats ?? 0) + 1 }
    const isMine = (await claim(owner, next)) || (await beat(shared))
    if (!isMine) throw lockedBy((await find()) ?? shared)
  }
}

/**
 * Creates a store in a MongoDB that several ICLs share. Its changes throw `unavailable` while an ICL has the database alone. Those of a
 * guest, which only makes some changes, throw SvcError `store-locked`.
 */
export function createSharedStore(options: MongoOptions, isGuest = false): SharedStore {
  const { url, clock, timeouts = defaultMongoTimeouts } = options
  const connection = createMongoConnection(url, clock, timeouts)
  // A command of the operator reads each record once.
  const store = createMongoStore(options, connection, !isGuest)
  const lookNow = lookAfter(connection, isGuest)
  let lookedAt: MonotonicMs | undefined
  let lockedOut: string | undefined
  let looking: Promise<void> | undefined
  const lookOnce = async () => {
    const at = clock.monotonic()
    try {
      await lookNow()
      lockedOut = undefined
      lookedAt = at
    } catch (error) {
      if (error instanceof SvcError) lockedOut = `${error.message}. ${error.hint}`
      throw error
    } finally {
      looking = undefined
    }
  }
  const look = (): Promise<void> => {
    looking ??= lookOnce()
    return looking
  }
  const check = async () => {
    if (elapsedSince(clock, lookedAt) < lookAgainMs) return
    await look().catch((error: unknown) => {
      if (isGuest || !(error instanceof SvcError)) throw error
      throw unavailable(notServed)
    })
  }
  return {
    ...beforeChanges(store, check),
    look,
    unlock: () => unlock(connection, clock),
    status: () => {
      const { writable, reasons, ...others } = store.status()
      return lockedOut === undefined
        ? { ...others, writable, reasons }
        : { ...others, writable: false, reasons: [...reasons, lockedOut] }
    },
  }
}

/** Opens such a store, whose server may be away. Throws SvcError `store-locked` while an ICL has the database alone. */
export async function openSharedStore(options: MongoOptions): Promise<Store> {
  const store = createSharedStore(options)
  try {
    await store.look()
  } catch (error) {
    if (error instanceof SvcError) {
      await store.close()
      throw error
    }
    options.log?.warn('The database does not respond yet: everything waits')
  }
  return store
}

/** Frees the database of an ICL that will not come back with its file, if its owner does not change within 20 s. */
async function unlock(connection: MongoConnection, clock: Clock): Promise<string | undefined> {
  const { owner: find, claim } = ownersOf(connection)
  const owner = await find()
  if (!owner || !isAlone(owner)) return undefined
  if (!owner.isFree) await clock.sleep(watchMs)
  const { name, head, beats } = owner
  if (await claim(owner, { ...shared, name, head, beats, isFree: true })) return name
  throw new SvcError('store-in-use', `An ICL (${owner.name}) uses the database`, {
    hint: 'Stop it. A stop in order gives the database back.',
  })
}
