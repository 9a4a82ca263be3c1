import type { Clock } from '../../../lib/clock.ts'
import { recorded } from '../../rules/job.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Store, StoreRecord, VersionedWrite, Write } from '../store.ts'
import type { LocalCopy, Pending } from './local-copy.ts'
import { lockOf } from './locks.ts'

const atOnce = 16
const batchLength = 256

/** Where a replay goes to, and whom it tells. */
export type Replay = {
  readonly copy: LocalCopy
  readonly primary: Pick<
    Store,
    'save' | 'saveAll' | 'findJob' | 'findNode' | 'findClient' | 'findKey'
  >
  readonly clock: Clock
  readonly log: Log
  readonly onReplayed: () => void
}

/**
 * Sends the saves that wait to the database, those of one document in their order, until none waits that was there at the beginning.
 * Each goes under the id that it had, and is forgotten here once the database has it, so that a replay that was cut off can be
 * repeated. What the database has otherwise stays there: then its owner is told.
 */
export async function replay(options: Replay): Promise<void> {
  const { copy } = options
  const lost = new Set<string>()
  let failure: unknown
  const next = async (one: Pending) => {
    // One that is done and not forgotten here has to be repeated before what comes on top of it.
    if (failure !== undefined) return
    try {
      await replayOne(options, one, lost)
    } catch (error) {
      failure ??= error
    }
  }
  for (let after = 0; ; ) {
    const batch = copy.listPending(after, batchLength)
    const last = batch.at(-1)
    if (!last) return
    const underWay = new Map<string, Promise<unknown>>()
    const left = batch.values()
    const work = async () => {
      for (const one of left) {
        const locks = one.writes.map(lockOf)
        const replayed = Promise.all(locks.map((lock) => underWay.get(lock))).then(() => next(one))
        for (const lock of locks) underWay.set(lock, replayed)
        await replayed
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work))
    if (failure !== undefined) throw failure
    after = last.seq
  }
}

async function replayOne(
  options: Replay,
  { id, writes }: Pending,
  lost: Set<string>,
): Promise<void> {
  const { copy, primary, onReplayed } = options
  const refused = await primary.saveAll(writes, id)
  // Each by itself: what others have taken must not keep the rest from being saved.
  if (refused) {
    for (const write of writes) {
      if (!(await primary.save(write, id))) await lose(options, write, lost)
    }
  }
  await copy.drop(id)
  onReplayed()
}

/** Says what a save that the database refuses was, unless nobody can miss it. */
async function lose(options: Replay, write: Write, lost: Set<string>): Promise<void> {
  const { primary, clock, log } = options
  const name = lockOf(write)
  if ('base' in write) {
    // Whatever was saved on top of it is lost, too.
    if (lost.has(name)) return
    lost.add(name)
    await tell(options, write)
    log.error('What was saved while the database was away lost against what is in it', { name })
  }
  if (write.kind !== 'key' || write.expiresAt <= clock.now()) return
  const holder = await primary.findKey(write.key, clock.now())
  if (holder !== write.value)
    log.warn('A key of the time without the database is another’s', { name })
}

/** Tells those who read a job, by its history; a node hears it by its next request, since its session is another one in the database. */
async function tell({ primary, clock, copy }: Replay, write: VersionedWrite): Promise<void> {
  const detail = 'What was saved while the database was away lost against what is in it'
  for (;;) {
    const found = await findRecord(primary, write)
    if (!found) return
    if (found.kind !== 'job') return void (await copy.put([found]))
    const job = recorded(found.job, clock.now(), 'outage-lost', { detail })
    if (await primary.save({ kind: 'job', job, base: found.version })) {
      return void (await copy.put([{ kind: 'job', job, version: found.version + 1 }]))
    }
  }
}

type Found = Extract<StoreRecord, { kind: 'job' | 'node' | 'client' }>

async function findRecord(
  store: Pick<Store, 'findJob' | 'findNode' | 'findClient'>,
  write: VersionedWrite,
): Promise<Found | undefined> {
  if (write.kind === 'job') {
    const found = await store.findJob(write.job.id)
    return found && { kind: 'job', job: found.document, version: found.version }
  }
  if (write.kind === 'node') {
    const found = await store.findNode(write.node.address)
    return found && { kind: 'node', node: found.document, version: found.version }
  }
  const found = await store.findClient(write.client.address)
  return found && { kind: 'client', client: found.document, version: found.version }
}
