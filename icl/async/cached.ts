import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'

/** The last value that was read, reused for a while. */
export type Cached<T> = {
  /** Returns the cached value, or reads a new one when it is too old. */
  read(): T
  /** Returns the value that was read last, however old; undefined after `forget`. */
  last(): T | undefined
  /** Drops the value, so that the next `read` reads anew. */
  forget(): void
}

/** Caches what `read` returns for `ms` by the monotonic clock. It caches promises, too, even ones that reject. */
export function cached<T>(clock: Pick<Clock, 'monotonic'>, ms: number, read: () => T): Cached<T> {
  let known: { readonly at: MonotonicMs; readonly value: T } | undefined
  return {
    read: () => {
      if (!known || elapsedSince(clock, known.at) >= ms) {
        known = { at: clock.monotonic(), value: read() }
      }
      return known.value
    },
    last: () => known?.value,
    forget: () => {
      known = undefined
    },
  }
}
