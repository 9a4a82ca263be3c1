import type { Clock } from '../../lib/clock.ts'
import {
  type Coprocessor,
  describeEncryption,
  type EncryptedHalves,
  type EncryptNews,
} from '../../lib/coprocessor/coprocessor.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import type { Random } from '../../lib/random.ts'
import { newSealingKey, splitKey } from '../../lib/sealing.ts'
import type { Log } from '../log.ts'
import { orAborted } from './or-aborted.ts'

const againMs = 60_000

/** A key that seals one output, and its encrypted halves, ready to be stored on chain. */
export type OutputKey = EncryptedHalves & { readonly key: Uint8Array<ArrayBuffer> }

/** A stock of output keys. Encrypting one takes some 10 s, which a deliverer should not spend. */
export type OutputKeys = {
  /** Returns a key that is given out once: the one in stock, or a new one. Throws what `Coprocessor.encrypt` throws. */
  take(signal: AbortSignal): Promise<OutputKey>
  /** Keeps one key in stock, in memory only, until `signal` aborts. Logs a failure and retries after a minute. */
  keepReady(signal: AbortSignal): Promise<void>
}

/** Makes an empty stock. */
export function createOutputKeys(deps: {
  readonly coprocessor: Pick<Coprocessor, 'encrypt'>
  readonly random: Random
  readonly clock: Clock
  readonly log: Log
}): OutputKeys {
  const { coprocessor, random, clock, log } = deps
  const make = async (signal: AbortSignal): Promise<OutputKey> => {
    const key = newSealingKey(random)
    const halves = splitKey(key)
    const onStep = (news: EncryptNews) =>
      log.debug(`Encrypting an output key: ${describeEncryption(news)}`)
    return { key, ...(await coprocessor.encrypt(halves.high, halves.low, { signal, onStep })) }
  }
  // Ready or in the making. A caller that takes it early waits for the rest of the encryption.
  let stock: Promise<OutputKey> | undefined
  let taken = Promise.withResolvers<void>()
  return {
    async take(signal) {
      const ready = stock
      stock = undefined
      taken.resolve()
      if (ready === undefined) return await make(signal)
      try {
        return await orAborted(ready, signal)
      } catch {
        signal.throwIfAborted()
        return await make(signal)
      }
    },
    async keepReady(signal) {
      while (!signal.aborted) {
        taken = Promise.withResolvers()
        const made = make(signal)
        stock = made
        try {
          await made
          await orAborted(taken.promise, signal)
        } catch (error) {
          if (stock === made) stock = undefined
          if (signal.aborted) return
          log.warning(`No output key is in stock, the next deliverer makes it: ${errorText(error)}`)
          await clock.sleep(againMs, signal).catch(() => {})
        }
      }
    },
  }
}
