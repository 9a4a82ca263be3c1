import { toSeconds } from './time.ts'

declare const monotonic: unique symbol

/** A reading of a clock that is never set. It is opaque, so that code cannot compare it with a time of day. Valid in this process only. */
export type MonotonicMs = { readonly [monotonic]: true }

/** The only source of time. Production passes `systemClock`; tests and simulations pass a virtual one. */
export interface Clock {
  /** Milliseconds since the Unix epoch. It jumps when the machine's clock is set, so use `monotonic` for ages within a process. */
  now(): number
  /** A mark for `elapsedSince`. Setting the machine's clock does not affect it. */
  monotonic(): MonotonicMs
  /** Resolves after `ms`, or rejects with the signal's reason if it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Calls `work` after `ms`, unless the returned function is called before. A clock without it sleeps. */
  readonly after?: (ms: number, work: () => void) => () => void
}

/** Makes a clock's `monotonic` reading from milliseconds since any fixed moment. */
export const monotonicMs = (ms: number): MonotonicMs => ms as unknown as MonotonicMs

/** Milliseconds since a mark; infinite without a mark. */
export const elapsedSince = (
  clock: Pick<Clock, 'monotonic'>,
  mark: MonotonicMs | undefined,
): number =>
  mark === undefined
    ? Number.POSITIVE_INFINITY
    : (clock.monotonic() as unknown as number) - (mark as unknown as number)

/** Unix seconds, as times travel on the wire. */
export const unixSeconds = (clock: Pick<Clock, 'now'>): number => toSeconds(clock.now())
