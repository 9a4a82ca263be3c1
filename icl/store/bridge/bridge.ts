/*
 * Problem: the specification requires the ICL to work while its database cannot be reached (spec 7), even when it starts
 * during an outage. No acknowledged save may be lost.
 *
 * Idea: an ICL that is alone on its database keeps a copy of it in a sqlite file (local-copy.ts). While the database
 * answers, the bridge notes each save in the file, sends it to the database, and then applies it to the copy. When the
 * database is away, the copy answers reads, judges saves as the database would, and keeps them in a table in the same
 * transaction. When the database is back, they are replayed in order (replay.ts), and saves go on until few are left.
 *
 * Invariants:
 * - Saves of one document run one at a time, so at most one has an unknown outcome when the connection breaks. The copy
 *   judges it under its id. The database takes a replayed save whose id it has for done.
 * - A read of what the copy may lack gets 503 unavailable, never "there is none" (`partial` of the status).
 * - Only an ICL with the exclusive lock of the database uses the copy (database-lock.ts), or one that could not ask for the
 *   lock because the database has been away since the start. That one takes the lock before it replays.
 * - A token in the database shows that another ICL or a command of the operator was there. Then the copy is filled anew. A fill
 *   ends when the connection changes, and never replaces what was saved since it began (fill.ts).
 * - Nothing changes once the lock is released: a stop refuses new changes, and waits for those that have begun.
 *
 * Failure cases:
 * - No copy, or a lock that another ICL has: every call gets 503 while the database is away. A disk that rejects saves has
 *   them refused even while the database answers, so that the copy never falls behind unnoticed.
 * - A disk rejects the outcome of a save that was sent: the copy judges it before anything else rests on the copy.
 * - A save that was sent is not answered: the copy judges it by what a fill has read meanwhile, does not refuse it for keys and
 *   blobs that a copy may lack, and replays it in any case (judging.ts). A fill ends only when the saves that it met have ended.
 * - The process dies: its successor judges the saves that were sent and not answered, before it listens.
 * - The database has another version of a replayed document: the database's document stays, and the job's history and the
 *   log record the loss. A job that the database has lost is saved again.
 * - The database is another one than before: nothing is replayed or saved until the operator decides.
 */

import { elapsedSince } from '../../../lib/clock.ts'
import { toBase64Url } from '../../../lib/digest.ts'
import { errorMessage } from '../../../lib/error-message.ts'
import { recheckLockMs, releaseDatabaseLock } from '../../records/database-lock.ts'
import { newestReplicaKey, releaseReplica } from '../../records/replicas.ts'
import { documentIn, lastingAtOnce, type Store, type StoreStatus, type Write } from '../store.ts'
import { keepCopy, reconnect, watchConnection } from './connection.ts'
import { lockAll } from './locks.ts'
import { ask, bridgeReads } from './reads.ts'
import {
  askPrimary,
  type Bridge,
  type BridgeOptions,
  checkLock,
  createState,
  isAway,
  lockHolderOf,
  noteAway,
  notSaved,
  onlyInDatabase,
  settleAll,
  settleSoon,
  stopping,
  tracked,
  whyNotWorking,
} from './state.ts'

/** Opens a store in a database, with a local copy that stands in while the database is away. Throws what the copy throws. */
export async function openBridge(options: BridgeOptions): Promise<Store> {
  const bridge = createState(options)
  const { copy, log, clock } = options
  const stop = new AbortController()
  if (copy) {
    copy.setFlushed(true)
    await copy.adopt()
    bridge.isWhole = (await copy.store.findKey(newestReplicaKey, clock.now())) !== undefined
    bridge.isContinuous = bridge.isWhole && copy.hasLock()
  }
  const unfilled = (error: unknown) => {
    if (isAway(error)) throw error
    log.warn('The local copy cannot be filled', { error: errorMessage(error) })
  }
  try {
    await reconnect(bridge)
    if (bridge.mode === 'connected') await keepCopy(bridge).catch(unfilled)
  } catch (error) {
    if (!isAway(error)) {
      await copy?.store.close()
      await bridge.primary?.close()
      throw error
    }
    await forgetOld(bridge)
    noteAway(bridge, bridge.era, error)
    log.warn('The database does not respond yet', {
      error: errorMessage(error),
      waiting: copy?.countPending(),
    })
  }
  const watching = watchConnection(bridge, stop.signal)
  const saveAll = (writes: readonly Write[], id = toBase64Url(options.random.bytes(12))) =>
    lockAll(bridge.mutex, writes, () => unlessClosed(bridge, () => saveInTurn(bridge, writes, id)))
  return {
    durable: true,
    shared: true,
    commits: lastingAtOnce,
    status: () => statusOf(bridge),
    close: async () => {
      stop.abort()
      bridge.isClosed = true
      bridge.skipWait()
      await watching
      await close(bridge)
    },
    save: async (write, id) => (await saveAll([write], id)) === undefined,
    saveAll: async (writes, id) => (writes.length === 0 ? undefined : saveAll(writes, id)),
    ...bridgeReads(bridge),
    prune: (what) =>
      unlessClosed(bridge, async () => {
        // The database prunes again once it is back.
        if (bridge.mode !== 'connected') return 0
        const count = await ask(bridge, (store) => store.prune(what))
        await copy?.store.prune(what)
        return count
      }),
    dropBlobs: (uploader, bytes, now) =>
      unlessClosed(bridge, async () => {
        // The copy lacks blobs, so it cannot tell which go first.
        if (bridge.mode !== 'connected') return []
        const dropped = await ask(bridge, (store) => store.dropBlobs(uploader, bytes, now))
        for (const { cid } of dropped) await copy?.store.erase({ kind: 'blob', cid })
        return dropped
      }),
    erase: (record) =>
      unlessClosed(bridge, async () => {
        const isErased = await ask(bridge, (store) => store.erase(record))
        await copy?.store.erase(record)
        return isErased
      }),
    scan: () => {
      if (bridge.mode !== 'connected' || !bridge.primary) throw onlyInDatabase(bridge, 'A backup')
      return bridge.primary.scan()
    },
    restore: (record) =>
      unlessClosed(bridge, async () => {
        if (!(await ask(bridge, (store) => store.restore(record)))) return false
        await copy?.put(record)
        return true
      }),
  }
}

/** Empties a copy without the lock, because others may have changed the database since, unless saves wait in the copy. */
async function forgetOld(bridge: Bridge): Promise<void> {
  const { copy } = bridge.options
  if (!copy || copy.hasLock() || copy.countPending() > 0) return
  bridge.isWhole = false
  await copy.clear('all')
}

/** Runs a change that `close` waits for. Throws `unavailable` once the store is closed. */
async function unlessClosed<T>(bridge: Bridge, change: () => Promise<T>): Promise<T> {
  if (bridge.isClosed) throw notSaved(stopping)
  return tracked(bridge.saves, change())
}

async function saveInTurn(
  bridge: Bridge,
  writes: readonly Write[],
  id: string,
): Promise<Write | undefined> {
  // Refuses what the copy could never judge.
  documentIn(writes)
  let isSent = false
  for (let hasWaited = false; ; ) {
    if (bridge.gate) await bridge.gate
    else if (bridge.pace && !hasWaited) {
      hasWaited = true
      await bridge.pace.take()
    } else if (bridge.mode !== 'connected') return saveHere(bridge, writes, id, isSent)
    else if (elapsedSince(bridge.options.clock, bridge.lockSeenAt) > recheckLockMs) {
      const { era } = bridge
      await checkLock(bridge).catch((error: unknown) => {
        if (!isAway(error)) throw error
        noteAway(bridge, era, error)
      })
    } else {
      const outcome = await saveInPrimary(bridge, writes, id, isSent)
      if (outcome !== 'unknown') return outcome
      isSent = true
    }
  }
}

/** Saves in the database. Returns the refused write, undefined once saved, or `unknown` when the connection broke. */
async function saveInPrimary(
  bridge: Bridge,
  writes: readonly Write[],
  id: string,
  isSent: boolean,
): Promise<Write | undefined | 'unknown'> {
  const { era, options } = bridge
  const { copy } = options
  let refused: Write | undefined
  // Once the connection has been closed, no error tells whether the database has done it.
  const tellsNothing = (error: unknown) => isAway(error) || bridge.era !== era
  try {
    await copy?.begin(writes, id)
    // The outcome of an earlier save of this document is in the same commit as `begin`, or is settled again here.
    await settleAll(bridge)
  } catch (error) {
    if (isSent) {
      noteAway(bridge, era, error)
      return 'unknown'
    }
    if (copy) settleSoon(bridge, id, () => copy.refuse(writes, id))
    throw error
  }
  try {
    const send = () => askPrimary(bridge, (store) => store.saveAll(writes, id))
    refused = await send().catch((error: unknown) => {
      // Without a copy, another replica may have saved on top of it.
      if (!copy || tellsNothing(error)) throw error
      // It may have failed after the document was saved, such as at a key to release: a repeat counts as done then.
      return send()
    })
  } catch (error) {
    if (!tellsNothing(error)) {
      if (copy) settleSoon(bridge, id, () => copy.refuse(writes, id))
      throw error
    }
    noteAway(bridge, era, error)
    // Without a copy, only the database can tell whether it saved.
    if (!copy) throw error
    return 'unknown'
  }
  if (copy)
    settleSoon(bridge, id, () => (refused ? copy.refuse(writes, id) : copy.settle(writes, id)))
  return refused
}

/** Saves in the copy. Returns the refused write. */
async function saveHere(
  bridge: Bridge,
  writes: readonly Write[],
  id: string,
  isSent: boolean,
): Promise<Write | undefined> {
  const { copy } = bridge.options
  const judge = async () => {
    try {
      const why = whyNotWorking(bridge)
      if (why !== undefined || !copy) throw notSaved(why)
      await settleAll(bridge)
      return await copy.save(writes, id, isSent)
    } catch (error) {
      // The database may have it: it is judged before anything else rests on the copy.
      if (isSent && copy) bridge.unsettled.set(id, () => copy.adopt(id))
      throw error
    }
  }
  const refused = await tracked(bridge.locals, judge())
  if (refused && isSent && !bridge.isWhole) throw notSaved('the database may have saved it already')
  return refused
}

function statusOf(bridge: Bridge): StoreStatus {
  const { mode, primary, options, isWhole, pace } = bridge
  if (mode === 'connected' && primary) {
    const own = primary.status()
    const copied = options.copy?.store.status()
    // A save that finds the database away is judged by the copy, so the copy has to be writable.
    const writable = copied?.writable ?? true
    return {
      ...own,
      writable,
      reasons: [...own.reasons, ...(writable ? [] : (copied?.reasons ?? []))],
    }
  }
  const trouble = whyNotWorking(bridge)
  if (trouble !== undefined) return { connected: false, writable: false, reasons: [trouble] }
  const why = pace
    ? 'the database answers again, and saves are replayed'
    : 'the database does not respond'
  const waiting = options.copy?.countPending() ?? 0
  const reason = `${why}: working from the local copy; ${waiting} saves wait`
  return { connected: false, writable: true, reasons: [reason], ...(!isWhole && { partial: true }) }
}

async function close(bridge: Bridge): Promise<void> {
  const { options, primary } = bridge
  const { copy, log } = options
  await Promise.allSettled(bridge.saves)
  if (bridge.mode === 'connected') {
    // Other ICLs need not wait for one that stopped in order.
    await leave(bridge).catch((error: unknown) =>
      log.warn('What says that this ICL runs stays in the database', { error: String(error) }),
    )
  }
  if (copy?.hasLock()) {
    log.warn(
      'The lock of the database stays with this ICL: only a start with the same local copy gives it back',
      {
        waiting: copy.countPending(),
      },
    )
  }
  await copy?.store.close()
  await primary?.close()
}

async function leave(bridge: Bridge): Promise<void> {
  const { copy, replicaId, clock } = bridge.options
  if (copy) {
    await settleAll(bridge)
    // Waiting saves keep the lock: no other ICL may save before they are in the database.
    if (copy.countPending() === 0) {
      await copy.noteLock(false)
      await ask(bridge, (store) => releaseDatabaseLock(store, lockHolderOf(bridge)))
    }
  }
  await ask(bridge, (store) => releaseReplica(store, replicaId, clock.now()))
}
