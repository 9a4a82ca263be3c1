import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'

/** Returns `read` with its result cached for `ms`. A failure is not cached. */
export function cachedUnlessFailed<T>(
  clock: Pick<Clock, 'monotonic'>,
  ms: number,
  read: () => Promise<T>,
): () => Promise<T> {
  const known = cached(clock, ms, async () => {
    try {
      return await read()
    } catch (error) {
      known.forget()
      throw error
    }
  })
  return known.read
}

/** Caches what `read` returns for `ms` by the monotonic clock. It caches promises, too, even ones that reject. */
export function cached<T>(clock: Pick<Clock, 'monotonic'>, ms: number, read: () => T) {
  let known: { readonly at: MonotonicMs; readonly value: T } | undefined
  return {
    /** Returns the cached value, or reads a new one when it is too old. */
    read: (): T => {
      if (!known || elapsedSince(clock, known.at) >= ms) {
        known = { at: clock.monotonic(), value: read() }
      }
      return known.value
    },
    /** Returns the value that was read last, however old; undefined after `forget`. */
    last: (): T | undefined => known?.value,
    /** Drops the value, so that the next `read` reads anew. */
    forget: () => {
      known = undefined
    },
  }
}
