import { elapsedSince } from '../../../lib/clock.ts'
import { toBase64Url } from '../../../lib/digest.ts'
import { errorMessage } from '../../../lib/error-message.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { takeDatabaseLock } from '../../records/database-lock.ts'
import { listErased } from '../../records/erased.ts'
import { joinReplicas, newestReplicaKey, renewReplicaMs } from '../../records/replicas.ts'
import { createFailures } from '../../telemetry/failures.ts'
import { forever } from '../forever.ts'
import type { Store, StoreRecord } from '../store.ts'
import { identityKey } from './local-copy.ts'
import { lockAll } from './locks.ts'
import { createPace } from './pace.ts'
import { replay } from './replay.ts'
import {
  askPrimary,
  type Bridge,
  checkLock,
  dropPrimary,
  inTime,
  isAway,
  lockHolderOf,
  noteAway,
  onlyInDatabase,
  settleAll,
} from './state.ts'

const firstProbeMs = 250
const longestProbeMs = 5_000
const steadyMs = 30_000
const progressMs = 10_000
const refillMs = 60_000
/** New saves wait once at most `lastSaves` are left to replay, or after `mostRounds` rounds, however many came in meanwhile. */
const lastSaves = 64
const mostRounds = 20

/** Reconnects after an outage and keeps the copy whole, until the signal aborts or the database turns out to be another one. */
export async function watchConnection(bridge: Bridge, signal: AbortSignal): Promise<void> {
  const { clock, log } = bridge.options
  const failures = createFailures({ clock, log }, 'Looking after the database failed')
  let probeMs = firstProbeMs
  let connectedAt = clock.monotonic()
  while (!signal.aborted && bridge.mode !== 'stuck') {
    await sleepOrSkip(bridge, bridge.mode === 'connected' ? renewReplicaMs : probeMs, signal)
    if (signal.aborted) return
    const { era, mode } = bridge
    try {
      if (mode === 'connected') {
        // Only a steady connection resets the backoff: a database that comes and goes is probed less and less often.
        if (elapsedSince(clock, connectedAt) > steadyMs) probeMs = firstProbeMs
        await checkLock(bridge)
        await keepCopy(bridge)
      } else {
        probeMs = Math.min(probeMs * 2, longestProbeMs)
        await reconnect(bridge)
        connectedAt = clock.monotonic()
      }
      failures.passed('database')
    } catch (error) {
      if (isAway(error) && mode === 'connected') noteAway(bridge, era, error)
      else if (isAway(error)) {
        log.debug('The database still does not respond', { error: errorMessage(error), probeMs })
        dropPrimary(bridge)
      } else failures.failed('database', error)
    }
  }
}

async function sleepOrSkip(bridge: Bridge, ms: number, signal: AbortSignal): Promise<void> {
  const skipped = new AbortController()
  const { mode } = bridge
  bridge.skipWait = () => skipped.abort()
  if (bridge.mode !== mode || signal.aborted) return
  const either = AbortSignal.any([signal, skipped.signal])
  await bridge.options.clock.sleep(ms, either).catch(() => {})
}

/** Connects to the database, replays the saves that wait in the copy, and sends it every save from then on. */
export async function reconnect(bridge: Bridge): Promise<void> {
  const { copy, log, clock } = bridge.options
  await openPrimary(bridge)
  await askPrimary(bridge, (store) => store.ping())
  if (copy && !(await isSameDatabase(bridge))) {
    bridge.mode = 'stuck'
    log.error('The database is not the one that the local copy is of: nothing is saved')
    return
  }
  await takeLock(bridge)
  let replayed = 0
  if (copy) {
    const pace = createPace()
    bridge.pace = pace
    let loggedAt = clock.monotonic()
    const say = () => log.info('Saves are replayed', { replayed, waiting: copy.countPending() })
    const onReplayed = (saves: number) => {
      replayed += saves
      pace.step(saves)
      if (elapsedSince(clock, loggedAt) < progressMs) return
      loggedAt = clock.monotonic()
      say()
    }
    if (copy.countPending() > 0) say()
    const ask = <T>(work: (store: Store) => Promise<T>) => askPrimary(bridge, work)
    const round = () => replay({ copy, ask, clock, log, onReplayed })
    try {
      // Saves go on during these rounds, and wait during the last one.
      for (let rounds = 0; copy.countPending() > lastSaves && rounds < mostRounds; rounds++) {
        await round()
      }
      await behindGate(bridge, async () => {
        await Promise.allSettled(bridge.locals)
        await settleAll(bridge)
        await round()
        copy.setFlushed(false)
        bridge.mode = 'connected'
        bridge.era++
      })
    } finally {
      bridge.pace = undefined
      pace.end()
    }
  } else {
    bridge.mode = 'connected'
    bridge.era++
  }
  log.info('The database answers', { replayed })
}

/** Takes the lock of the database. Keeps the reason of a refusal in `lockedOut`, and throws it. */
async function takeLock(bridge: Bridge): Promise<void> {
  const { clock, random, copy } = bridge.options
  const at = clock.monotonic()
  const holder = { ...lockHolderOf(bridge), wasHeld: copy?.hasLock() === true }
  try {
    await askPrimary(bridge, (store) => takeDatabaseLock(store, holder, { clock, random }))
  } catch (error) {
    if (error instanceof SvcError) bridge.lockedOut = `${error.message}. ${error.hint}`
    throw error
  }
  bridge.lockedOut = undefined
  bridge.lockSeenAt = at
  if (!copy || holder.wasHeld) return
  // A new token tells any other ICL's copy that it is behind from now on.
  const now = clock.now()
  const known = await copy.store.findKey(newestReplicaKey, now)
  const newest = await askPrimary(bridge, (store) => store.findKey(newestReplicaKey, now))
  if (newest === undefined || newest !== known) await join(bridge)
  await copy.noteLock(true)
}

async function join(bridge: Bridge): Promise<string> {
  const { clock, random } = bridge.options
  const token = toBase64Url(random.bytes(12))
  await askPrimary(bridge, (store) => joinReplicas(store, token, clock.now()))
  return token
}

/** Names the database if it has no name yet. False when the copy knows another name and holds saves that wait. */
async function isSameDatabase(bridge: Bridge): Promise<boolean> {
  const { clock, random, copy } = bridge.options
  if (!copy) return true
  const now = clock.now()
  const known = await copy.store.findKey(identityKey, now)
  const isBound = known !== undefined && copy.countPending() > 0
  const value = toBase64Url(random.bytes(12))
  const key = { kind: 'key', key: identityKey, value, now, expiresAt: forever } as const
  const found = await askPrimary(bridge, async (store) => {
    const id = await store.findKey(identityKey, now)
    if (id !== undefined || isBound) return id
    return (await store.save(key)) ? value : store.findKey(identityKey, now)
  })
  if (isBound && found !== known) return false
  if (found !== undefined && found !== known) {
    bridge.isWhole = false
    if (known !== undefined) await copy.clear('all')
    await copy.put({ ...key, value: found })
  }
  return true
}

async function openPrimary(bridge: Bridge): Promise<void> {
  if (bridge.primary) return
  const opening = bridge.options.open()
  try {
    bridge.primary = await inTime(bridge, () => opening)
  } catch (error) {
    void opening.then((store) => store.close()).catch(() => {})
    throw error
  }
}

async function behindGate(bridge: Bridge, work: () => Promise<void>): Promise<void> {
  let open = () => {}
  bridge.gate = new Promise((resolve) => {
    open = resolve
  })
  try {
    await work()
  } finally {
    bridge.gate = undefined
    open()
  }
}

/** Fills the copy unless it is whole: it lacks what another ICL or a command of the operator saved. */
export async function keepCopy(bridge: Bridge): Promise<void> {
  const { copy, clock, log } = bridge.options
  if (!copy || bridge.mode !== 'connected') return
  const { era } = bridge
  const now = clock.now()
  const known = await copy.store.findKey(newestReplicaKey, now)
  const newest = await askPrimary(bridge, (store) => store.findKey(newestReplicaKey, now))
  const isCurrent = newest !== undefined && newest === known
  if (isCurrent && bridge.isWhole && bridge.filledAt !== undefined) return
  // A late answer: the copy has what the database lacks by now.
  if (bridge.era !== era) return
  // A fill that failed is retried after a while only: an unreadable record would make every attempt read everything in vain.
  if (!bridge.isWhole && elapsedSince(clock, bridge.filledAt) < refillMs) return
  bridge.isWhole &&= isCurrent
  bridge.filledAt = clock.monotonic()
  if (!isCurrent) {
    // A database without a token is new or restored: anything in the copy may be missing there.
    await copy.clear(bridge.isContinuous && newest !== undefined ? 'removable' : 'all')
    for (const cid of await askPrimary(bridge, (store) => listErased(store, now))) {
      await copy.store.erase({ kind: 'blob', cid })
    }
  }
  // The token is read before the fill: saves that come with a later token may be missing from it.
  const value = newest ?? (await join(bridge))
  if (bridge.era !== era || !bridge.primary) return
  await copy.fill(withoutBlobs(bridge, bridge.primary))
  // Without the outcome of the saves that were under way, the copy lacks what they are of.
  for (const record of copy.leftOut()) await lockAll(bridge.mutex, [record], async () => {})
  await settleAll(bridge)
  if (bridge.era !== era) return
  await copy.put({ kind: 'key', key: newestReplicaKey, value, expiresAt: forever })
  bridge.isWhole = true
  bridge.isContinuous = true
  log.info('The local copy is whole: this ICL goes on while the database is away')
}

/** Yields every record but the blobs, which come last. Throws `unavailable` once the connection has changed. */
async function* withoutBlobs(bridge: Bridge, store: Store): AsyncGenerator<StoreRecord> {
  const { era } = bridge
  const checkEra = () => {
    if (bridge.era !== era) throw onlyInDatabase(bridge, 'A fill of the local copy')
  }
  for await (const record of store.scan()) {
    checkEra()
    if (record.kind === 'blob') break
    yield record
  }
  checkEra()
}
