import { toSeconds } from './time.ts'

declare const monotonic: unique symbol

/** A reading of a clock that no one sets: opaque, so that it is never compared with a time of day. Means nothing to another process. */
export type MonotonicMs = { readonly [monotonic]: true }

/** The only source of time. Production passes `systemClock`; tests and simulations pass a virtual one. */
export interface Clock {
  /** Milliseconds since the Unix epoch. It leaps when the machine's clock is set: for ages within a process use `monotonic`. */
  now(): number
  /** A mark that `elapsedSince` measures from, however the machine's clock is set meanwhile. */
  monotonic(): MonotonicMs
  /** Resolves after `ms`, or rejects with the signal's reason if it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** What a clock makes its `monotonic` of: milliseconds since any moment. */
export const monotonicMs = (ms: number): MonotonicMs => ms as unknown as MonotonicMs

/** Milliseconds since a mark; since ever when there is none. */
export const elapsedSince = (
  clock: Pick<Clock, 'monotonic'>,
  mark: MonotonicMs | undefined,
): number =>
  mark === undefined
    ? Number.POSITIVE_INFINITY
    : (clock.monotonic() as unknown as number) - (mark as unknown as number)

/** Unix seconds, as times travel on the wire. */
export const unixSeconds = (clock: Pick<Clock, 'now'>): number => toSeconds(clock.now())
