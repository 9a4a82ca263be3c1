import { cidOf } from '../../lib/cid.ts'
import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { Store, Uploader } from '../store/store.ts'
import type { Blobs } from './blobs.ts'

const recountMs = 60_000
const recountFullMs = 5_000
const pruneBatch = 1_000

const maxRemembered = 10_000

/** Which share of the room each may take; published pools are kept besides, since many jobs have them in common. */
const roomOf = (uploader: Uploader, maxBytes: number): number =>
  uploader === 'icl' ? 4 * maxBytes : maxBytes / 2

/** What one node may take of the room of nodes, while what it uploaded first may be kept for no job. */
const nodeShare = 0.25
const shareMs = 3_600_000

/**
 * Blobs in the store: about `maxBytes` of uploads, half for wallets and half for nodes, and four times that for the ICL's own. Each
 * node may add a quarter of its half in an hour, counted by this process.
 */
export function createStoredBlobs(store: Store, maxBytes: number, clock: Clock): Blobs {
  const rooms = new Map<Uploader, Room>()
  const roomFor = (uploader: Uploader): Room => {
    const room = rooms.get(uploader) ?? createRoom(store, uploader, maxBytes, clock)
    rooms.set(uploader, room)
    return room
  }

  const shares = createShares(clock)

  // What was asked for lately, so that what many jobs need is written once: a blob stays until its time has come.
  const keptUntil = new Map<string, number>()
  const remember = (cid: string, until: number) => {
    keptUntil.delete(cid)
    keptUntil.set(cid, until)
    const [oldest] = keptUntil.keys()
    if (keptUntil.size > maxRemembered && oldest !== undefined) keptUntil.delete(oldest)
  }
  const isKept = (cid: string, until: number): boolean => {
    const known = keptUntil.get(cid)
    return known !== undefined && known >= until && known > clock.now()
  }
  const keep = async (cid: string, until: number): Promise<boolean> => {
    if (isKept(cid, until)) return true
    if (!(await store.save({ kind: 'keep-blob', cid, until }))) return false
    remember(cid, until)
    return true
  }

  const save = async (
    cid: string,
    bytes: Uint8Array<ArrayBuffer>,
    { uploader, node, until, signal }: Parameters<Blobs['put']>[2],
  ): Promise<boolean> => {
    // One that is there already takes no more room, however often it comes.
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
    if (isSaved) remember(cid, until)
    return isSaved
  }

  // The same blob comes from many at once, and must not be counted for each.
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
        .filter((cid) => !isKept(cid, until))
        .map((cid) => ({ kind: 'keep-blob', cid, until }) as const),
    noteKept: (writes) => {
      for (const { cid, until } of writes) remember(cid, until)
    },
    get: (cid) => findIntact(store, cid),
    // It is the store that answers, and that forgets what has expired.
    ping: async () => {},
    prune: async () => 0,
  }
}

type Room = {
  /** Saves so many bytes unless they do not fit; returns whether they are saved. */
  fill(size: number, save: () => Promise<boolean>): Promise<boolean>
}

/** The room of one kind of uploader. Counting is slow, and other processes upload, too: it is kept to about one minute's uploads. */
function createRoom(store: Store, uploader: Uploader, maxBytes: number, clock: Clock): Room {
  const limit = roomOf(uploader, maxBytes)
  let bytes = 0
  /** Of `bytes`, what this process ever saved or is saving, and what it is saving. */
  let taken = 0
  let writing = 0
  let countedAt: MonotonicMs | undefined
  let prunedAt: MonotonicMs | undefined
  let counting: Promise<void> | undefined

  const count = async (isFull: boolean) => {
    if (isFull) await store.prune({ now: clock.now(), settledBefore: 0, limit: pruneBatch })
    // What is being written may be counted or not: it is taken for not counted.
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
  // Looks and takes in one go: nobody else can take the same room in between.
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
    fill: async (size, save) => {
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

/** The bytes that each node has added in its current hour. */
function createShares(clock: Clock) {
  const shares = new Map<string, { bytes: number; readonly since: MonotonicMs }>()
  const shareOf = (node: string) => {
    const known = shares.get(node)
    return known && elapsedSince(clock, known.since) < shareMs ? known : undefined
  }
  return {
    /** Takes so many bytes unless they are more than the share has left; answers whether they were taken. */
    take: (node: string | undefined, size: number, most: number): boolean => {
      if (node === undefined) return true
      const share = shareOf(node) ?? { bytes: 0, since: clock.monotonic() }
      if (share.bytes + size > most) return false
      share.bytes += size
      shares.delete(node)
      shares.set(node, share)
      const [oldest] = shares.keys()
      if (shares.size > maxRemembered && oldest !== undefined) shares.delete(oldest)
      return true
    },
    giveBack: (node: string | undefined, size: number): void => {
      const share = node === undefined ? undefined : shareOf(node)
      if (share) share.bytes -= size
    },
  }
}

/** A blob of the store, if it still is what was put there. */
export async function findIntact(
  store: Pick<Store, 'findBlob'>,
  cid: string,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const bytes = await store.findBlob(cid)
  return bytes !== undefined && (await cidOf(bytes)) === cid ? bytes : undefined
}
