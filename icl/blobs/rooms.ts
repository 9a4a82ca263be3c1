/*
 * Problem: all callers share the room for blobs. Wallets cost nothing to make, and a stored key costs little, so the room can be
 * filled on purpose. A room that is full must not be closed to others.
 *
 * Idea: each kind of uploader has a room of its own. When it is full, blobs that are not in use are dropped: those without an
 * accepted answer first, then the others, and of each the oldest. Each account has a share of an hour's uploads.
 *
 * Invariants:
 * - A blob that nodes work on is never dropped.
 * - Nothing is dropped for an upload that would not fit even then.
 *
 * Failure cases: counting is slow, and other processes upload, too, so a room may be exceeded by about one minute's uploads.
 */
import { abortable } from '../../lib/chain/abortable.ts'
import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { maxBlobBytes } from '../../lib/endpoints.ts'
import { hourMs } from '../../lib/time.ts'
import { cachedUnlessFailed } from '../async/cached.ts'
import { setNewest } from '../async/set-newest.ts'
import { unavailable } from '../records/unavailable.ts'
import type { Store, Uploader } from '../store/store.ts'
import type { Room } from './blobs.ts'

const recountMs = 60_000
const recountFullMs = 5_000
const readMs = 15_000
/** How much of a room is made free at a time, so that a full room is not counted for each upload. */
const freedBytesOf = (limit: number): number => Math.min(limit / 32, maxBlobBytes)
/** The part of its room that one account may fill in an hour, as counted by this process. */
const sharePart = 1 / 4
const shareMs = hourMs
const mostShares = 10_000

/** Every kind of uploader. */
export const uploaders = ['wallet', 'node', 'icl'] as const

type Upload = {
  readonly uploader: Uploader
  readonly account?: string | undefined
  readonly signal?: AbortSignal | undefined
}

type RoomOptions = {
  readonly store: Store
  readonly clock: Clock
  /** Before the names of the store's rooms: those in Kubo are apart. */
  readonly prefix: '' | 'kubo-'
  /** The size of each room in bytes. */
  readonly sizes: () => Promise<Readonly<Record<Uploader, number>>>
  /** Called with blobs whose rows were dropped. */
  readonly onDropped: (cids: readonly string[]) => Promise<void>
}

/** Creates the rooms of all kinds of uploaders. */
export function createRooms(options: RoomOptions) {
  const { store, clock, prefix, sizes } = options
  const rooms = {
    wallet: createRoom(options, 'wallet'),
    node: createRoom(options, 'node'),
    icl: createRoom(options, 'icl'),
  }
  const shares = createShares(clock)
  const read = async (): Promise<Record<Uploader, Room>> => {
    const all = await sizes()
    const entries = uploaders.map(async (uploader): Promise<[Uploader, Room]> => {
      const [stored, inUse] = await Promise.all([
        store.countBlobBytes(`${prefix}${uploader}`),
        store.countBlobBytes(`${prefix}${uploader}`, clock.now()),
      ])
      // A half of an odd number of bytes is no number of bytes.
      const bytes = Math.floor(all[uploader])
      const left = (taken: number) => Math.max(0, bytes - taken)
      return [uploader, { bytes, freeBytes: left(stored), openBytes: left(inUse) }]
    })
    return Object.fromEntries(await Promise.all(entries)) as Record<Uploader, Room>
  }
  return {
    /** Saves so many bytes if there is room. Returns whether they are saved. Throws `unavailable` when the account has no share left. */
    fill: async (
      { uploader, account, signal }: Upload,
      size: number,
      save: () => Promise<boolean>,
    ): Promise<boolean> => {
      const most =
        account === undefined ? 0 : (await abortable(sizes(), signal))[uploader] * sharePart
      shares.take(account, size, most)
      let isSaved = false
      try {
        isSaved = await rooms[uploader].fill(size, signal, save)
      } finally {
        if (!isSaved) shares.giveBack(account, size)
      }
      return isSaved
    },
    read: cachedUnlessFailed(clock, readMs, read),
  }
}

function createRoom({ store, clock, prefix, sizes, onDropped }: RoomOptions, uploader: Uploader) {
  const name = `${prefix}${uploader}` as const
  let limit = 0
  let bytes = 0
  /** The parts of `bytes` that this process saved or is saving, and that it is saving. */
  let taken = 0
  let writing = 0
  let countedAt: MonotonicMs | undefined
  /** When all that was left was in use. */
  let closedAt: MonotonicMs | undefined
  let working: Promise<void> | undefined

  const count = async () => {
    // The count may include bytes that are being written. They are treated as not included.
    const before = taken - writing
    const [all, counted] = await Promise.all([sizes(), store.countBlobBytes(name)])
    limit = all[uploader]
    bytes = counted + taken - before
    countedAt = clock.monotonic()
  }
  const drop = async (size: number) => {
    const inUse = await store.countBlobBytes(name, clock.now())
    const missing = bytes + size - limit
    const dropped =
      inUse + size > limit
        ? []
        : await store.dropBlobs(name, Math.max(missing, freedBytesOf(limit)), clock.now())
    for (const one of dropped) bytes -= one.size
    if (dropped.length === 0) closedAt = clock.monotonic()
    else await onDropped(dropped.map(({ cid }) => cid))
  }
  const take = (size: number) => {
    bytes += size
    taken += size
    writing += size
  }
  // Checks and takes without an await in between, so that the same room is taken once.
  const takeIfFits = async (size: number, signal: AbortSignal | undefined): Promise<boolean> => {
    for (;;) {
      const isFull = bytes + size > limit
      const isOld = elapsedSince(clock, countedAt) >= (isFull ? recountFullMs : recountMs)
      if (!isOld && !isFull) {
        take(size)
        return true
      }
      if (!isOld && elapsedSince(clock, closedAt) < recountFullMs) return false
      working ??= (isOld ? count() : drop(size)).finally(() => {
        working = undefined
      })
      await abortable(working, signal)
    }
  }

  return {
    fill: async (
      size: number,
      signal: AbortSignal | undefined,
      save: () => Promise<boolean>,
    ): Promise<boolean> => {
      if (!(await takeIfFits(size, signal))) return false
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
  const shareOf = (account: string) => {
    const known = shares.get(account)
    return known && elapsedSince(clock, known.since) < shareMs ? known : undefined
  }
  return {
    take: (account: string | undefined, size: number, most: number): void => {
      if (account === undefined) return
      const share = shareOf(account) ?? { bytes: 0, since: clock.monotonic() }
      if (share.bytes + size > most) {
        const why = `${account} has used its share of the room for blobs: ${most} bytes an hour`
        throw unavailable(why, 30)
      }
      share.bytes += size
      setNewest(shares, account, share, mostShares)
    },
    giveBack: (account: string | undefined, size: number): void => {
      const share = account === undefined ? undefined : shareOf(account)
      if (share) share.bytes -= size
    },
  }
}
