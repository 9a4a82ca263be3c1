import { cidOf } from '../../lib/cid.ts'
import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { hourMs } from '../../lib/time.ts'
import { setNewest } from '../async/set-newest.ts'
import type { Store, Uploader } from '../store/store.ts'
import type { Blobs } from './blobs.ts'
import { createKeptUntil } from './kept-until.ts'

const recountMs = 60_000
const recountFullMs = 5_000
const pruneBatch = 1_000

const mostShares = 10_000

/** The room of each kind of uploader. Published pools have a larger room besides, since many jobs share them. */
const roomOf = (uploader: Uploader, maxBytes: number): number =>
  uploader === 'icl' ? 4 * maxBytes : maxBytes / 2

/** The share of the room of nodes that one node may take in the hour for which an upload without a job is kept. */
const nodeShare = 0.25
const shareMs = hourMs

/**
 * Keeps blobs in the store: about `maxBytes` of uploads, half for wallets and half for nodes, and four times that for the ICL's own. Each
 * node may add a quarter of the nodes' half in an hour, as counted by this process.
 */
export function createStoredBlobs(store: Store, maxBytes: number, clock: Clock): Blobs {
  const rooms = new Map<Uploader, ReturnType<typeof createRoom>>()
  const roomFor = (uploader: Uploader) => {
    const room = rooms.get(uploader) ?? createRoom(store, uploader, maxBytes, clock)
    rooms.set(uploader, room)
    return room
  }

  const shares = createShares(clock)

  const kept = createKeptUntil(() => clock.now())
  const keep = async (cid: string, until: number): Promise<boolean> => {
    if (kept.has(cid, until)) return true
    if (!(await store.save({ kind: 'keep-blob', cid, until }))) return false
    kept.note(cid, until)
    return true
  }

  const save = async (
    cid: string,
    bytes: Uint8Array<ArrayBuffer>,
    { uploader, node, until, signal }: Parameters<Blobs['put']>[2],
  ): Promise<boolean> => {
    // A stored blob takes no more room, however often it is uploaded.
    if (await keep(cid, until)) return true
    const share = roomOf(uploader, maxBytes) * nodeShare
    if (!shares.take(node, bytes.length, share)) return false
    let isSaved = false
    try {
      isSaved = await roomFor(uploader).fill(bytes.length, async () => {
        signal?.throwIfAborted()
        return await store.save({ kind: 'blob', cid, bytes, uploader, until })
      })
    } finally {
      if (!isSaved) shares.giveBack(node, bytes.length)
    }
    if (isSaved) kept.note(cid, until)
    return isSaved
  }

  // Many may upload the same blob at once, and it must be counted once.
  const saving = new Map<string, Promise<boolean>>()

  return {
    put: async (cid, bytes, options) => {
      for (let other = saving.get(cid); other; other = saving.get(cid)) {
        await other.catch(() => {})
      }
      options.signal?.throwIfAborted()
      const own = save(cid, bytes, options)
      saving.set(cid, own)
      try {
        return await own
      } finally {
        saving.delete(cid)
      }
    },
    keeping: async (cids, until) =>
      cids
        .filter((cid) => !kept.has(cid, until))
        .map((cid) => ({ kind: 'keep-blob', cid, until }) as const),
    noteKept: (writes) => {
      for (const { cid, until } of writes) kept.note(cid, until)
    },
    get: (cid) => findIntact(store, cid),
    // The store answers its own ping, and deletes expired blobs itself.
    ping: async () => {},
    prune: async () => 0,
  }
}

/** The room of one kind of uploader. Counting is slow, and other processes upload, too, so it may be exceeded by about one minute's uploads. */
function createRoom(store: Store, uploader: Uploader, maxBytes: number, clock: Clock) {
  const limit = roomOf(uploader, maxBytes)
  let bytes = 0
  /** The parts of `bytes` that this process saved or is saving, and that it is saving. */
  let taken = 0
  let writing = 0
  let countedAt: MonotonicMs | undefined
  let prunedAt: MonotonicMs | undefined
  let counting: Promise<void> | undefined

  const count = async (isFull: boolean) => {
    if (isFull) await store.prune({ now: clock.now(), settledBefore: 0, limit: pruneBatch })
    // The count may include bytes that are being written. They are treated as not included.
    const before = taken - writing
    const counted = await store.countBlobBytes(uploader)
    bytes = counted + taken - before
    countedAt = clock.monotonic()
    if (isFull) prunedAt = countedAt
  }
  const take = (size: number) => {
    bytes += size
    taken += size
    writing += size
  }
  // Checks and takes without an await in between, so that the same room is taken once.
  const takeIfFits = async (size: number): Promise<boolean> => {
    for (;;) {
      const isFull = bytes + size > limit
      const isOld = elapsedSince(clock, countedAt) >= recountMs
      if (!isOld && !isFull) {
        take(size)
        return true
      }
      if (!isOld && elapsedSince(clock, prunedAt) < recountFullMs) return false
      counting ??= count(!isOld && isFull).finally(() => {
        counting = undefined
      })
      await counting
    }
  }

  return {
    /** Saves so many bytes if they fit. Returns whether they are saved. */
    fill: async (size: number, save: () => Promise<boolean>): Promise<boolean> => {
      if (!(await takeIfFits(size))) return false
      let isSaved = false
      try {
        isSaved = await save()
      } finally {
        if (isSaved) writing -= size
        else take(-size)
      }
      return isSaved
    },
  }
}

function createShares(clock: Clock) {
  const shares = new Map<string, { bytes: number; readonly since: MonotonicMs }>()
  const shareOf = (node: string) => {
    const known = shares.get(node)
    return known && elapsedSince(clock, known.since) < shareMs ? known : undefined
  }
  return {
    /** Takes so many bytes if the share has them left. Returns whether they were taken. */
    take: (node: string | undefined, size: number, most: number): boolean => {
      if (node === undefined) return true
      const share = shareOf(node) ?? { bytes: 0, since: clock.monotonic() }
      if (share.bytes + size > most) return false
      share.bytes += size
      setNewest(shares, node, share, mostShares)
      return true
    },
    giveBack: (node: string | undefined, size: number): void => {
      const share = node === undefined ? undefined : shareOf(node)
      if (share) share.bytes -= size
    },
  }
}

/** Returns a blob of the store if its bytes still have its CID. */
export async function findIntact(
  store: Pick<Store, 'findBlob'>,
  cid: string,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const bytes = await store.findBlob(cid)
  return bytes !== undefined && (await cidOf(bytes)) === cid ? bytes : undefined
}
