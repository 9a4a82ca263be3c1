/** The only source of time. Production passes `systemClock`; tests and simulations pass a virtual one. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Resolves after `ms`, or rejects with the signal's reason if it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Unix seconds, as times travel on the wire. */
export const unixSeconds = (clock: Clock): number => Math.floor(clock.now() / 1000)
