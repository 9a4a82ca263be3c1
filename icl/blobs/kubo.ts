import { z } from 'zod'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { cachedUnlessFailed } from '../async/cached.ts'
import type { Keep, Store, Uploader } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import type { Blobs } from './blobs.ts'
import { createKnownKeeps } from './known-keeps.ts'
import { putBlock, readBlock } from './kubo-blocks.ts'
import { listPins, pin, unpin } from './kubo-pins.ts'
import { createKuboRpc, type KuboRpc, type KuboRpcOptions, readKubo } from './kubo-rpc.ts'
import { createRooms, uploaders } from './rooms.ts'
import { findIntact, keepOnly } from './stored.ts'

/** Where the blobs of an ICL are kept; times in milliseconds. */
export type KuboOptions = KuboRpcOptions & {
  /** Reads use it if it is given, else the RPC. */
  readonly gatewayUrl?: string | undefined
  /** Names this ICL's pins. Its replicas share the name, and no other program of this Kubo uses it. */
  readonly pinName: string
  /** How many pins are read at a time. */
  readonly pinsAtOnce?: number | undefined
  readonly store: Store
  readonly log: Log
}

const retryAfterSeconds = 5
const sizesMs = 5_000
const defaultPinsAtOnce = 200_000

const rowPrefix = 'kubo:'
/** The row of the store, without bytes, that says how long a blob of Kubo is kept. */
export const kuboRowOf = (cid: string): string => rowPrefix + cid
export const isKuboRow = (row: string): boolean => row.startsWith(rowPrefix)

/**
 * Keeps blobs as raw blocks in Kubo, pinned until the store deletes their rows. A row is saved before the pin: a pin without a row has
 * expired, or was never acknowledged. Earlier blobs in the store itself are still read and kept there.
 */
export function createKuboBlobs(options: KuboOptions): Blobs {
  const { store, clock, pinName, log, pinsAtOnce: limit = defaultPinsAtOnce } = options
  const rpc = createKuboRpc(options)
  const pinned = createKnownKeeps(() => clock.now())
  const kept = createKnownKeeps(() => clock.now())

  const isKnown = async (cid: string) => (await store.findBlob(kuboRowOf(cid))) !== undefined
  const remove = (cid: string): Promise<boolean> => {
    pinned.forget(cid)
    kept.forget(cid)
    // A blob that is put again meanwhile has its row first, so isWanted sees it.
    return unpin(rpc, cid, { pinName, isWanted: () => isKnown(cid) })
  }
  const rooms = createRooms({
    ...{ store, clock, prefix: 'kubo-' },
    sizes: cachedUnlessFailed(clock, sizesMs, () => sizesOf(rpc, store)),
    onDropped: async (rows) => {
      // What stays, because Kubo fails now, is removed by `prune`.
      for (const row of rows) await remove(row.slice(rowPrefix.length))
    },
  })
  const keepRow = (row: string, how: Keep) =>
    store.save({ ...keepOnly(how), kind: 'keep-blob', cid: row })

  return {
    put: (cid, bytes, options) =>
      asProblem(log, options.signal, async () => {
        if (pinned.has(cid, options)) return true
        const row = kuboRowOf(cid)
        const putPinned = async () => {
          // No abort from here on: nothing would remove a block without a pin.
          await putBlock(rpc, cid, bytes)
          await pin(rpc, cid, pinName)
          pinned.note(cid, options)
          return true
        }
        if (await keepRow(row, options)) return await putPinned()
        const { uploader, signal, usedUntil = clock.now() } = options
        return await rooms.fill(options, bytes.length, async () => {
          signal?.throwIfAborted()
          const how = { ...keepOnly(options), usedUntil, size: bytes.length }
          const blob = {
            ...how,
            kind: 'blob',
            cid: row,
            bytes: new Uint8Array(),
            uploader: `kubo-${uploader}`,
          } as const
          return (await store.save(blob)) && (await putPinned())
        })
      }),
    keep: async (cids, how) => {
      for (const cid of cids.filter((one) => !kept.has(one, how))) {
        if ((await keepRow(kuboRowOf(cid), how)) || (await keepRow(cid, how))) kept.note(cid, how)
      }
    },
    keeping: (cids, how) =>
      Promise.all(
        cids.map(async (cid) => {
          const row = (await isKnown(cid)) ? kuboRowOf(cid) : cid
          return { ...how, kind: 'keep-blob', cid: row, mayBeAbsent: true } as const
        }),
      ),
    rooms: () => asProblem(log, undefined, rooms.read),
    get: async (cid, signal) => {
      const read = () => readBlock(options, rpc, cid, signal)
      return (await asProblem(log, signal, read)) ?? (await findIntact(store, cid))
    },
    ping: async (signal) => {
      await rpc({ command: 'version', signal })
    },
    prune: async (mayGoOn) => {
      let gone = 0
      let refusal: SvcError | undefined
      for (let looked = 0; mayGoOn(); looked += limit) {
        // The removed pins came before this part, and are not in the list any more.
        const { cids, isLast } = await listPins(rpc, pinName, { skip: looked - gone, limit })
        for (const cid of cids) {
          if (!mayGoOn()) break
          if (await isKnown(cid)) continue
          try {
            if (await remove(cid)) gone++
          } catch (error) {
            // A block that Kubo cannot remove must not keep all others.
            if (!(error instanceof SvcError && error.code === 'kubo-refused')) throw error
            refusal ??= error
          }
        }
        if (isLast) break
      }
      if (refusal) throw refusal
      return gone
    },
  }
}

const size = z.number().nonnegative()
const RepoSize = z.object({ RepoSize: size, StorageMax: size })

/** The rooms within Kubo's `Datastore.StorageMax`, less what others keep in it: half for wallets, a quarter for nodes, the rest for pools. */
async function sizesOf(rpc: KuboRpc, store: Store): Promise<Record<Uploader, number>> {
  const command = 'repo/stat'
  const query = { 'size-only': 'true' }
  const own = Promise.all(uploaders.map((uploader) => store.countBlobBytes(`kubo-${uploader}`)))
  const repo = readKubo(RepoSize, command, await rpc({ command, query }))
  const others = Math.max(0, repo.RepoSize - (await own).reduce((sum, bytes) => sum + bytes, 0))
  const all = Math.max(0, repo.StorageMax - others)
  return { wallet: all / 2, node: all / 4, icl: all / 4 }
}

/** Runs calls of Kubo. Logs a failure, and tells the caller of the ICL only when to try again. */
async function asProblem<T>(
  log: Log,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    signal?.throwIfAborted()
    if (!(error instanceof SvcError)) throw error
    log.warn('the blob store failed', { code: error.code, error: error.message })
    throw new ProblemError('unavailable', 'The blob store does not respond', { retryAfterSeconds })
  }
}
