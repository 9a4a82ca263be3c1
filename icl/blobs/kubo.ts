import { z } from 'zod'
import { cidOf } from '../../lib/cid.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Store, Uploader } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import type { Blobs } from './blobs.ts'
import { createKeptUntil } from './kept-until.ts'
import { readByGateway } from './kubo-gateway.ts'
import { listPins, pin, unpin } from './kubo-pins.ts'
import { createRoom } from './kubo-room.ts'
import { createKuboRpc, type KuboRpc, type KuboRpcOptions, readKubo } from './kubo-rpc.ts'
import { findIntact } from './stored.ts'

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
const defaultPinsAtOnce = 200_000

const PutBlock = z.object({ Key: z.string().max(100) })

/** The row of the store, without bytes, that says until when a blob of Kubo is kept. */
export const kuboRowOf = (cid: string): string => `kubo:${cid}`

/**
 * Keeps blobs as raw blocks in Kubo, pinned until the store deletes their rows. A row is saved before the pin: a pin without a row has
 * expired, or was never acknowledged. Earlier blobs in the store itself are still read and kept there.
 */
export function createKuboBlobs(options: KuboOptions): Blobs {
  const { store, clock, pinName, log, pinsAtOnce: limit = defaultPinsAtOnce } = options
  const rpc = createKuboRpc(options)
  const room = createRoom(rpc, clock)
  const pinned = createKeptUntil(() => clock.now())

  const saveRow = (cid: string, uploader: Uploader, until: number) =>
    store.save({ kind: 'blob', cid: kuboRowOf(cid), bytes: new Uint8Array(), uploader, until })

  return {
    put: (cid, bytes, { uploader, until, signal }) =>
      asProblem(log, signal, async () => {
        if (pinned.has(cid, until)) return true
        if (!(await room.has(uploader, bytes.length, signal))) return false
        signal?.throwIfAborted()
        if (!(await saveRow(cid, uploader, until))) return false
        // No abort from here on: nobody would remove a block without a pin.
        await putBlock(rpc, cid, bytes)
        await pin(rpc, cid, pinName)
        room.took(bytes.length)
        pinned.note(cid, until)
        return true
      }),
    keeping: (cids, until) =>
      Promise.all(
        cids.map(async (cid) => {
          const isInKubo = (await store.findBlob(kuboRowOf(cid))) !== undefined
          return { kind: 'keep-blob', cid: isInKubo ? kuboRowOf(cid) : cid, until } as const
        }),
      ),
    noteKept: () => {},
    get: async (cid, signal) => {
      const read = () => readBlock(options, rpc, cid, signal)
      return (await asProblem(log, signal, read)) ?? (await findIntact(store, cid))
    },
    ping: async (signal) => {
      await rpc({ command: 'version', signal })
    },
    prune: async (mayGoOn) => {
      const isKnown = async (cid: string) => (await store.findBlob(kuboRowOf(cid))) !== undefined
      let gone = 0
      let refusal: SvcError | undefined
      for (let looked = 0; mayGoOn(); looked += limit) {
        // The removed pins came before this part, and are not in the list any more.
        const { cids, isLast } = await listPins(rpc, pinName, { skip: looked - gone, limit })
        for (const cid of cids) {
          if (!mayGoOn()) break
          if (await isKnown(cid)) continue
          pinned.forget(cid)
          // A blob that is put again meanwhile has its row first, so isWanted sees it.
          const options = { pinName, isWanted: () => isKnown(cid) }
          try {
            if (await unpin(rpc, cid, options)) gone++
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

async function putBlock(rpc: KuboRpc, cid: string, file: Uint8Array<ArrayBuffer>): Promise<void> {
  const command = 'block/put'
  const query = { 'cid-codec': 'raw', mhtype: 'sha2-256', pin: 'false' }
  const { Key } = readKubo(PutBlock, command, await rpc({ command, query, file }))
  if (Key === cid) return
  throw new SvcError('kubo-refused', `Kubo put ${cid} under another CID`, {
    hint: 'SVC_ICL_BLOBS has to name the RPC of a Kubo.',
  })
}

const absent = /not found|could not find/i

async function readBlock(
  options: KuboOptions,
  rpc: KuboRpc,
  cid: string,
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const { gatewayUrl } = options
  if (gatewayUrl !== undefined) return readByGateway(options, gatewayUrl, cid, signal)
  // Offline, so that Kubo does not search other peers for a missing block.
  const query = { arg: cid, offline: 'true' }
  const answer = await rpc({ command: 'block/get', query, signal })
  if ('bytes' in answer && (await cidOf(answer.bytes)) === cid) return answer.bytes
  if ('refusal' in answer && absent.test(answer.refusal)) return undefined
  throw new SvcError(
    'kubo-refused',
    'refusal' in answer
      ? `Kubo does not give ${cid}: ${answer.refusal.slice(0, 200)}`
      : `Kubo sent bytes that do not hash to ${cid}`,
    { hint: 'Let `ipfs repo verify` look at its blocks.' },
  )
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
