import type { Address, JobId } from '../../lib/codecs.ts'
import { kuboRowOf } from '../blobs/kubo.ts'
import { isSettled, type Job } from '../rules/job.ts'
import { ownBlobsOf } from '../rules/kept-blobs.ts'
import type { Erasable, Position, Store } from '../store/store.ts'
import type { AdminContext } from './context.ts'

const pageSize = 200

/** The data of one client in the store. */
export type ClientData = {
  readonly address: Address
  /** Jobs that have settled and have nothing left to deliver. */
  readonly over: readonly JobId[]
  /** The client's other jobs. */
  readonly open: readonly JobId[]
  /** Sealed prompts and answers that only the jobs in `over` name. */
  readonly blobs: readonly string[]
  /** Sealed prompts and answers of the jobs in `over` that other jobs name, too. */
  readonly sharedBlobs: readonly string[]
  /** Jobs that cannot be read. */
  readonly unreadable: number
  readonly isKnown: boolean
}

/** Finds the data of a client. Reads the jobs of all clients, because any of them may name the same blobs. */
export async function findClientData(
  { store }: AdminContext,
  address: Address,
): Promise<ClientData> {
  const over = new Set<JobId>()
  const open = new Set<JobId>()
  const own = new Set<string>()
  for await (const job of jobsIn(store, address)) {
    const isOver = isSettled(job.phase) && job.outbox.length === 0
    if (isOver) for (const cid of ownBlobsOf(job)) own.add(cid)
    ;(isOver ? over : open).add(job.id)
  }
  const shared = new Set<string>()
  if (own.size > 0) {
    for await (const job of jobsIn(store)) {
      if (over.has(job.id)) continue
      for (const cid of ownBlobsOf(job)) if (own.has(cid)) shared.add(cid)
    }
  }
  const count = await store.countJobsOfClient(address, { since: 0 })
  return {
    address,
    over: [...over],
    open: [...open],
    blobs: [...own].filter((cid) => !shared.has(cid)),
    sharedBlobs: [...shared],
    unreadable: Math.max(count - over.size - open.size, 0),
    isKnown: (await store.findClient(address)) !== undefined,
  }
}

/**
 * Erases what `findClientData` found: blobs, then the jobs that name them, then the client, so that an interrupted run can be repeated. A
 * client with other jobs keeps its record. Returns how many jobs and blobs were erased.
 */
export async function eraseClientData({ store }: AdminContext, data: ClientData) {
  let jobs = 0
  let blobs = 0
  for (const cid of data.blobs) {
    const here = await store.erase({ kind: 'blob', cid })
    // The ICL unpins the block within an hour, because the store has no row of it.
    const inKubo = await store.erase({ kind: 'blob', cid: kuboRowOf(cid) })
    if (here || inKubo) blobs++
  }
  for (const id of data.over) if (await store.erase({ kind: 'job', id })) jobs++
  const client: Erasable = { kind: 'client', address: data.address }
  const isDone = data.open.length === 0 && data.unreadable === 0
  return { jobs, blobs, client: isDone && (await store.erase(client)) }
}

async function* jobsIn(store: Store, client?: Address): AsyncGenerator<Job> {
  for (let before: Position | undefined; ; ) {
    const page = await store.listJobs({ client, before, limit: pageSize })
    yield* page
    const last = page.at(-1)
    if (!last) return
    before = { at: last.createdAt, id: last.id }
  }
}
