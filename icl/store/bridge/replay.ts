import type { Clock } from '../../../lib/clock.ts'
import type { Client } from '../../rules/client.ts'
import type { Node } from '../../rules/eligibility.ts'
import { type Job, recorded } from '../../rules/job.ts'
import type { Log } from '../../telemetry/log.ts'
import {
  type DocumentRecord,
  recordBy,
  recordOfDocument,
  type Store,
  type Versioned,
  type VersionedWrite,
  type Write,
} from '../store.ts'
import type { LocalCopy } from './local-copy.ts'
import { lockOf } from './locks.ts'
import type { Merged } from './merge.ts'

// Few, because each has to end within the time limit of a call, even in a slow database.
const atOnce = 4
const batchLength = 1_000

/** Where a replay sends saves, and where it reports. */
export type Replay = {
  readonly copy: LocalCopy
  /** Asks the database. */
  readonly ask: <T>(work: (store: Store) => Promise<T>) => Promise<T>
  readonly clock: Clock
  readonly log: Log
  /** Called with the number of saves that a replayed one stood for. */
  readonly onReplayed: (saves: number) => void
}

/**
 * Sends the waiting saves, merged (merge.ts), to the database until none waits. Saves of one document keep their order. Each save keeps
 * its id, and leaves the copy once the database has it, so that an interrupted replay can be repeated. When the database has another
 * version of a document, that one stays, and the loss is recorded (`giveUp`). Throws what the database throws.
 */
export async function replay(options: Replay): Promise<void> {
  const { copy } = options
  for (;;) {
    // From the first on each time: a save that was sent, and is judged only now, has its place before those on top of it.
    const batch = await copy.takePending(batchLength)
    if (batch.length === 0) return
    const lost = new Set<string>()
    let failure: unknown
    const next = async (one: Merged) => {
      // After a failure nothing more is sent: the failed save has to be repeated before the saves on top of it.
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
  }
}

/** Sends one merged save, without the documents that were given up since it was taken (`lost`). */
async function replayOne(
  options: Replay,
  { id, writes, seqs }: Merged,
  lost: Set<string>,
): Promise<void> {
  const { copy, ask, onReplayed } = options
  const left = writes.filter((write) => !lost.has(lockOf(write)))
  if (await ask((store) => store.saveAll(left, id))) {
    // Saves each write by itself, because one refused write must not stop the others. The document is last: once it is saved, a repeated
    // save counts as done.
    for (const write of left.toSorted((a, b) => Number('base' in a) - Number('base' in b))) {
      if (await ask((store) => store.save(write, id))) continue
      if ('base' in write) {
        if (await bringBack(options, write, id)) continue
        lost.add(lockOf(write))
        await giveUp(options, write, id)
      } else await tellOfKey(options, write)
    }
  }
  await copy.drop(id)
  onReplayed(seqs.length)
}

/** Saves a job that the database has lost, as one that loses its primary may. While this ICL has the lock, nothing removes a job whose saves wait. */
async function bringBack(
  { ask, log }: Replay,
  write: VersionedWrite,
  id: string,
): Promise<boolean> {
  if (write.kind !== 'job' || (await ask((store) => store.findJob(write.job.id)))) return false
  const whole = { ...write, base: 0, version: recordBy(write).version }
  if (!(await ask((store) => store.save(whole, id)))) return false
  log.warn('The database had lost a job. It is saved again from the local copy', {
    name: lockOf(write),
  })
  return true
}

const detail = 'What was saved while the database was away lost against what is in it'

/** Keeps the database's document. A job's history records the loss. A node notices at its next request, as its session is another. */
async function giveUp(
  { ask, clock, copy, log }: Replay,
  write: VersionedWrite,
  id: string,
): Promise<void> {
  const found = await ask<Versioned<Job | Node | Client> | undefined>((store) => {
    if (write.kind === 'job') return store.findJob(write.job.id)
    if (write.kind === 'node') return store.findNode(write.node.address)
    return store.findClient(write.client.address)
  })
  const record = found && afterLoss(recordOfDocument(write.kind, found), clock.now())
  await copy.giveUp(write, record, `${id}:lost`)
  log.error(detail, { name: lockOf(write) })
}

function afterLoss(found: DocumentRecord, now: number): DocumentRecord {
  switch (found.kind) {
    case 'job':
      return { ...found, job: recorded(found.job, now, 'outage-lost', { detail }) }
    case 'node':
      // The node's events of the outage are saved all the same, and may be older than the last one folded: fold all again.
      return { ...found, node: { ...found.node, folded: undefined } }
    case 'client':
      return found
  }
}

/** Logs that another value has a key, unless the lost claim has expired. */
async function tellOfKey({ ask, clock, log }: Replay, write: Write): Promise<void> {
  if (write.kind !== 'key' || write.expiresAt <= clock.now()) return
  const holder = await ask((store) => store.findKey(write.key, clock.now()))
  if (holder === write.value) return
  log.warn('A key of the time without the database is another’s', { name: lockOf(write) })
}
