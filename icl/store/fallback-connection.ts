import { elapsedSince } from '../../lib/clock.ts'
import { toBase64Url } from '../../lib/digest.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { renewReplicaMs, sayCaughtUp } from '../records/replicas.ts'
import { createFailures } from '../telemetry/failures.ts'
import { createEventCache } from './fallback-events.ts'
import { loadJobs, loadMirror } from './fallback-load.ts'
import { createMirror } from './fallback-mirror.ts'
import { heartbeat, keepHeartbeats, letOthersBeFirst, nobodyJoined } from './fallback-others.ts'
import { createPace } from './fallback-pace.ts'
import { replayJournal } from './fallback-replay.ts'
import { askPrimary, type Fallback, inTime, isAway, noteAway } from './fallback-state.ts'
import type { Store } from './store.ts'

/** For how long a job that has settled is held for when the database goes away, in milliseconds. */
const keepSettledMs = 3_600_000
const firstProbeMs = 250
const longestProbeMs = 5_000
const steadyMs = 30_000
const refillMs = 60_000
const progressMs = 10_000
/** So many writes are replayed while saves wait. */
const lastWrites = 16

/** Looks after the connection until the signal aborts: says that this replica is there, keeps the mirror, comes back after an absence. */
export async function watchConnection(fallback: Fallback, signal: AbortSignal): Promise<void> {
  const { clock, log } = fallback.options
  const failures = createFailures({ clock, log }, 'Looking after the database failed')
  let probeMs = firstProbeMs
  let connectedAt = clock.monotonic()
  while (!signal.aborted && fallback.mode !== 'stuck') {
    await sleepOrSkip(fallback, fallback.mode === 'connected' ? renewReplicaMs : probeMs, signal)
    if (signal.aborted) return
    const { era, mode } = fallback
    try {
      if (mode === 'connected') {
        // A database that comes and goes is asked less and less often.
        if (elapsedSince(clock, connectedAt) > steadyMs) probeMs = firstProbeMs
        await keepUp(fallback)
      } else {
        probeMs = Math.min(probeMs * 2, longestProbeMs)
        await reconnect(fallback)
        connectedAt = clock.monotonic()
      }
      failures.passed('database')
    } catch (error) {
      if (isAway(error) && mode === 'connected') noteAway(fallback, era, error)
      else if (isAway(error)) {
        log.debug('The database still does not answer', { probeMs })
        dropPrimary(fallback)
      } else failures.failed('database', error)
    }
  }
}

async function sleepOrSkip(fallback: Fallback, ms: number, signal: AbortSignal): Promise<void> {
  const skipped = new AbortController()
  const { mode } = fallback
  fallback.skipWait = () => skipped.abort()
  if (fallback.mode !== mode || signal.aborted) return
  const either = AbortSignal.any([signal, skipped.signal])
  await fallback.options.clock.sleep(ms, either).catch(() => {})
}

/** Takes the database up again: it gets what the journal holds, and from then on every save. */
export async function reconnect(fallback: Fallback): Promise<void> {
  const { options } = fallback
  const { journal, clock, log, replicaId } = options
  await openPrimary(fallback)
  await askPrimary(fallback, (store) => store.ping())
  if (!(await isSameDatabase(fallback))) {
    return stick(fallback, `The database is not the one that ${journal.path} belongs to`)
  }
  await letOthersBeFirst(fallback)
  const progress = createProgress(fallback)
  const target: Pick<Store, 'save' | 'findKey'> = {
    save: (write, id) => askPrimary(fallback, (store) => store.save(write, id)),
    findKey: (key, now) => askPrimary(fallback, (store) => store.findKey(key, now)),
  }
  const pace = createPace()
  const replayed = new AbortController()
  if (journal.begun) void keepHeartbeats(fallback, replayed.signal)
  const onWrite = () => {
    pace.step()
    progress.step()
  }
  const replay = (downTo: number) =>
    replayJournal(journal, target, { now: () => clock.now(), onWrite, downTo })
  fallback.pace = pace
  try {
    // Saves go on while most of it is replayed, and wait for the rest.
    await replay(lastWrites)
    await behindGate(fallback, async () => {
      await Promise.allSettled(fallback.locals)
      await replay(0)
      const changes = await askPrimary(fallback, (store) => store.listChanges(undefined))
      if (journal.begun) await journal.clear()
      fallback.cursor = changes.cursor
      fallback.blobs.unpin()
      fallback.unknown.clear()
      fallback.trouble = undefined
      fallback.mode = 'connected'
      fallback.era++
    })
  } catch (error) {
    if (!(error instanceof SvcError && error.code === 'journal-refused')) throw error
    return stick(fallback, error.message)
  } finally {
    fallback.pace = undefined
    pace.end()
    replayed.abort()
  }
  // If it is not heard, it passes by itself.
  await askPrimary(fallback, (store) => sayCaughtUp(store, replicaId)).catch(() => {})
  log.info('The database is back', { replayed: progress.replayed() })
}

/** Logs a replay when it begins, and how far it is every 10 s. */
function createProgress({ options }: Fallback) {
  const { journal, clock, log } = options
  let [replayed, loggedAt] = [0, clock.monotonic()]
  const say = () => {
    const waiting = journal.written - journal.replayed
    log.info('The journal is replayed', { replayed, waiting, path: journal.path })
  }
  if (journal.written > journal.replayed) say()
  return {
    replayed: () => replayed,
    step: () => {
      replayed++
      if (elapsedSince(clock, loggedAt) < progressMs) return
      loggedAt = clock.monotonic()
      say()
    },
  }
}

/** Stops for good: an operator has to decide what becomes of the journal. */
function stick(fallback: Fallback, why: string): void {
  const { journal, log } = fallback.options
  fallback.mode = 'stuck'
  fallback.trouble = `${why}: nothing can be saved, and the journal ${journal.path} is kept`
  log.error('The journal cannot be replayed', { why, journal: journal.path })
}

const identityKey = 'database-id'

/** Gives the database a name of its own if it has none; false when the journal knows it by another. */
async function isSameDatabase(fallback: Fallback): Promise<boolean> {
  const { clock, random, journal } = fallback.options
  const now = clock.now()
  const known = await fallback.mirror.memory.findKey(identityKey, now)
  const value = toBase64Url(random.bytes(12))
  const key = { key: identityKey, value, now, expiresAt: Number.MAX_SAFE_INTEGER }
  const found = await askPrimary(fallback, async (store) => {
    const id = await store.findKey(identityKey, now)
    if (id !== undefined || journal.begun) return id
    return (await store.save({ kind: 'key', ...key })) ? value : store.findKey(identityKey, now)
  })
  return !journal.begun || found === known
}

/** Opens the database unless it is open; one that opens too late is closed again. */
async function openPrimary(fallback: Fallback): Promise<void> {
  if (fallback.primary) return
  const opening = fallback.options.open()
  try {
    fallback.primary = await inTime(fallback, () => opening)
  } catch (error) {
    void opening.then((store) => store.close()).catch(() => {})
    throw error
  }
}

/**
 * Has the next attempt connect anew. A client may never find its server again: MongoDB's, on Bun, waits for good for a
 * connection that is closed in the moment in which it opens, as by a proxy before a server that is away.
 */
function dropPrimary(fallback: Fallback): void {
  const { primary } = fallback
  fallback.primary = undefined
  void primary?.close().catch(() => {})
}

async function behindGate(fallback: Fallback, work: () => Promise<void>): Promise<void> {
  let open = () => {}
  fallback.gate = new Promise((resolve) => {
    open = resolve
  })
  try {
    await work()
  } finally {
    fallback.gate = undefined
    open()
  }
}

/** Says that this replica is there, and keeps the mirror as it should be. */
export async function keepUp(fallback: Fallback): Promise<void> {
  const { clock } = fallback.options
  await heartbeat(fallback)
  if (fallback.aloneAt === undefined) return follow(fallback)
  fallback.followed = undefined
  if (!fallback.isFresh && !wasFilledOfLate(fallback)) await fill(fallback)
  const settledBefore = clock.now() - keepSettledMs
  await fallback.mirror.memory.prune({ now: clock.now(), settledBefore, limit: 10_000 })
}

const isWhole = ({ primary }: Fallback): boolean => (primary?.status().unreadable ?? 0) === 0

/** True while it is no use to read everything again: records cannot be read, and somebody has to mend them. */
const wasFilledOfLate = (fallback: Fallback): boolean =>
  !isWhole(fallback) &&
  fallback.filledAt !== undefined &&
  elapsedSince(fallback.options.clock, fallback.filledAt) < refillMs

/** Fills a new mirror, and takes it in place of the old one; it is fresh if nobody else came meanwhile. */
async function fill(fallback: Fallback): Promise<void> {
  const { era, mutex, options } = fallback
  const next = createMirror()
  fallback.next = next
  try {
    await loadMirror(next, limited(fallback), mutex, options.clock.now())
    await heartbeat(fallback)
    if (fallback.era !== era) return
    fallback.mirror = next
    fallback.mirrorNumber++
    // Others may have added to what was read of them.
    fallback.events = createEventCache()
    fallback.isLoaded = true
    fallback.filledAt = options.clock.monotonic()
    // A record that is not in the mirror could be saved from memory as if it were new.
    fallback.isFresh = isWhole(fallback) && (await nobodyJoined(fallback, next))
    if (fallback.isFresh) options.log.info('No other replica runs: this one can work from memory')
  } finally {
    fallback.next = undefined
  }
}

/** The database, each of whose answers may take a limited time. */
const limited = (fallback: Fallback): Parameters<typeof loadMirror>[1] => {
  const ask = <T>(work: (store: Store) => Promise<T>) => askPrimary(fallback, work)
  return {
    findJob: (id) => ask((store) => store.findJob(id)),
    findNode: (address) => ask((store) => store.findNode(address)),
    listNodes: (now) => ask((store) => store.listNodes(now)),
    listClients: (after, limit) => ask((store) => store.listClients(after, limit)),
    listKeys: (prefix, now) => ask((store) => store.listKeys(prefix, now)),
    listDueTicks: (now, limit) => ask((store) => store.listDueTicks(now, limit)),
    listDueEffects: (now, limit) => ask((store) => store.listDueEffects(now, limit)),
    listJobOrigins: (after, limit) => ask((store) => store.listJobOrigins(after, limit)),
  }
}

/** Takes over what other replicas have saved, so that reads go on when the database goes away. */
async function follow(fallback: Fallback): Promise<void> {
  const ask = (cursor: string | undefined) =>
    askPrimary(fallback, (store) => store.listChanges(cursor))
  // From before the mirror is filled, and on across absences: or what others save meanwhile would be missed.
  fallback.followed ??= (await ask(undefined)).cursor
  if (!fallback.isLoaded) await fill(fallback)
  const changes = await ask(fallback.followed)
  const { mirror, mutex } = fallback
  const newer: Parameters<typeof loadJobs>[3][number][] = []
  for (const { id, version } of changes.jobs) {
    if (((await mirror.memory.findJob(id))?.version ?? 0) < version) newer.push(id)
  }
  await loadJobs(mirror, limited(fallback), mutex, newer)
  for (const node of await askPrimary(fallback, (store) => store.listNodes(0))) {
    const known = await mirror.memory.findNode(node.address)
    mirror.memory.put({ kind: 'node', node, version: known?.version ?? 0 })
  }
  fallback.followed = changes.cursor
}
