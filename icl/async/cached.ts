import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'

/** The last value that was read, kept for a while. */
export type Cached<T> = {
  /** Reads anew when what is kept is too old, else gives that: so it reads rarely, however many ask. */
  read(): T
  /** What was read last, however old. */
  last(): T | undefined
  /** Has the next `read` read anew. */
  forget(): void
}

/** Caches what `read` returns for `ms`, by a clock that no one sets. A promise is kept as it is, also one that fails. */
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
