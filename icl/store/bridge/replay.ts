import type { Clock } from '../../../lib/clock.ts'
import { recorded } from '../../rules/job.ts'
import type { Log } from '../../telemetry/log.ts'
import type { DocumentRecord, Store, VersionedWrite, Write } from '../store.ts'
import type { LocalCopy } from './local-copy.ts'
import { lockOf } from './locks.ts'
import type { Merged } from './merge.ts'

// Few: each may take only as long as a call to the database may, however slow that is.
const atOnce = 4
const batchLength = 1_000

/** Where a replay goes to, and whom it tells. */
export type Replay = {
  readonly copy: LocalCopy
  readonly primary: Pick<
    Store,
    'save' | 'saveAll' | 'findJob' | 'findNode' | 'findClient' | 'findKey'
  >
  readonly clock: Clock
  readonly log: Log
  /** Called with the number of saves of which the database has what came of them. */
  readonly onReplayed: (saves: number) => void
}

/**
 * Sends what the saves that wait come to (merge.ts) to the database, that of one document in its order, until none waits. Each goes under
 * the id that it had, and is forgotten here once the database has it, so that a replay that was cut off can be repeated. What the
 * database has otherwise stays there: then its owner is told.
 */
export async function replay(options: Replay): Promise<void> {
  const { copy } = options
  for (let after = 0; ; ) {
    const batch = await copy.takePending(after, batchLength)
    if (batch.length === 0) return
    const lost = new Set<string>()
    let failure: unknown
    const next = async (one: Merged) => {
      // One that is done and not forgotten here has to be repeated before what comes on top of it.
      if (failure !== undefined) return
      try {
        await replayOne(options, one, lost)
      } catch (error) {
        failure ??= error
      }
    }
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
    after = Math.max(...batch.flatMap(({ seqs }) => seqs))
  }
}

/** Sends one; `lost` are the documents that were given up since it was taken. */
async function replayOne(
  options: Replay,
  { id, writes, seqs }: Merged,
  lost: Set<string>,
): Promise<void> {
  const { copy, primary, onReplayed } = options
  const left = writes.filter((write) => !lost.has(lockOf(write)))
  if (await primary.saveAll(left, id)) {
    // Each by itself: what others have taken must not keep the rest from being saved. The document is last: once it is there, a repeated
    // save is taken for done.
    for (const write of left.toSorted((a, b) => Number('base' in a) - Number('base' in b))) {
      if (await primary.save(write, id)) continue
      if ('base' in write) {
        lost.add(lockOf(write))
        await giveUp(options, write, id)
      } else await tellOfKey(options, write)
    }
  }
  await copy.drop(id)
  onReplayed(seqs.length)
}

const detail = 'What was saved while the database was away lost against what is in it'

/** Has the database's document stay: a job's history says so, and a node hears it by its next request, since its session is another one there. */
async function giveUp(
  { primary, clock, copy, log }: Replay,
  write: VersionedWrite,
  id: string,
): Promise<void> {
  const found = await findRecord(primary, write)
  await copy.giveUp(write, found && afterLoss(found, clock.now()), `${id}:lost`)
  log.error(detail, { name: lockOf(write) })
}

function afterLoss(found: DocumentRecord, now: number): DocumentRecord {
  switch (found.kind) {
    case 'job':
      return { ...found, job: recorded(found.job, now, 'outage-lost', { detail }) }
    case 'node':
      // Its events of that time are saved nevertheless, and may be from before what was folded.
      return { ...found, node: { ...found.node, folded: undefined } }
    case 'client':
      return found
  }
}

/** Says that a key is taken, unless nobody can miss it. */
async function tellOfKey({ primary, clock, log }: Replay, write: Write): Promise<void> {
  if (write.kind !== 'key' || write.expiresAt <= clock.now()) return
  const holder = await primary.findKey(write.key, clock.now())
  if (holder === write.value) return
  log.warn('A key of the time without the database is another’s', { name: lockOf(write) })
}

async function findRecord(
  store: Pick<Store, 'findJob' | 'findNode' | 'findClient'>,
  write: VersionedWrite,
): Promise<DocumentRecord | undefined> {
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
