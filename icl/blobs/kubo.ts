import { z } from 'zod'
import { cidOf } from '../../lib/cid.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Store, Uploader } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import type { Blobs } from './blobs.ts'
import { readByGateway } from './kubo-gateway.ts'
import { listPins, pin, unpin } from './kubo-pins.ts'
import { createRoom } from './kubo-room.ts'
import { createKuboRpc, type KuboRpc, type KuboRpcOptions, readKubo } from './kubo-rpc.ts'
import { findIntact } from './stored.ts'

/** Where the blobs of an ICL go; times in milliseconds. */
export type KuboOptions = KuboRpcOptions & {
  /** Reads go there when it is given, else to the RPC. */
  readonly gatewayUrl?: string | undefined
  /** Names this ICL's pins: its replicas have it in common, and no other program of this Kubo has it. */
  readonly pinName: string
  /** How many pins are looked through at a time. */
  readonly pinsAtOnce?: number | undefined
  readonly store: Store
  readonly log: Log
}

const retryAfterSeconds = 5
const maxRemembered = 10_000
const defaultPinsAtOnce = 200_000

const PutBlock = z.object({ Key: z.string().max(100) })

/** The row of the store that says until when a blob of Kubo is kept: one without bytes, beside those of blobs that the store holds itself. */
export const kuboRowOf = (cid: string): string => `kubo:${cid}`

/**
 * Blobs as raw blocks in a Kubo, pinned until the store forgets them. The store's row comes before the pin: what is pinned
 * without one has expired, or was never acknowledged. Blobs that the store holds from before are still read and kept there.
 */
export function createKuboBlobs(options: KuboOptions): Blobs {
  const { store, clock, pinName, log, pinsAtOnce: limit = defaultPinsAtOnce } = options
  const rpc = createKuboRpc(options)
  const room = createRoom(rpc, clock)
  const pinned = createMemory(() => clock.now())

  const saveRow = (cid: string, uploader: Uploader, until: number) =>
    store.save({ kind: 'blob', cid: kuboRowOf(cid), bytes: new Uint8Array(), uploader, until })

  return {
    put: (cid, bytes, { uploader, until, signal }) =>
      asProblem(log, signal, async () => {
        if (pinned.until(cid) >= until) return true
        if (!(await room.has(uploader, bytes.length, signal))) return false
        signal?.throwIfAborted()
        if (!(await saveRow(cid, uploader, until))) return false
        // A caller who leaves here must not leave a block behind that no pin names: nobody would remove it.
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
        // What went was before this part, and is not in the list any more.
        const { cids, isLast } = await listPins(rpc, pinName, { skip: looked - gone, limit })
        for (const cid of cids) {
          if (!mayGoOn()) break
          if (await isKnown(cid)) continue
          pinned.forget(cid)
          // It may have been put again meanwhile: the row came first, so that this is seen.
          const options = { pinName, isWanted: () => isKnown(cid) }
          try {
            if (await unpin(rpc, cid, options)) gone++
          } catch (error) {
            // One block that Kubo cannot let go of must not keep all others.
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
  // Offline: what it does not have, it must not look for in the world.
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

/** Runs what asks Kubo; its failure is one of the ICL, to whose callers it says only when to come again. */
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

/** What this process pinned lately, so that what many jobs need is sent once. */
function createMemory(now: () => number) {
  const known = new Map<string, number>()
  return {
    until: (cid: string): number => {
      const until = known.get(cid)
      return until !== undefined && until > now() ? until : Number.NEGATIVE_INFINITY
    },
    note: (cid: string, until: number): void => {
      known.delete(cid)
      known.set(cid, until)
      const [oldest] = known.keys()
      if (known.size > maxRemembered && oldest !== undefined) known.delete(oldest)
    },
    forget: (cid: string): void => {
      known.delete(cid)
    },
  }
}
