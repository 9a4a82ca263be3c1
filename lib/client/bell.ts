import type { Clock } from '../clock.ts'

/** Wakes one waiter. A ring without a waiter is kept for the next one. */
export type Bell = {
  readonly ring: () => void
  /** Resolves at a ring or after `ms`; rejects with the signal's reason. */
  readonly wait: (ms: number, signal?: AbortSignal) => Promise<void>
}

/** Makes a bell. */
export function createBell(clock: Clock): Bell {
  let rung = false
  let wake = () => {}
  return {
    ring: () => {
      rung = true
      wake()
    },
    wait: async (ms, signal) => {
      signal?.throwIfAborted()
      const woken = new AbortController()
      wake = () => woken.abort()
      const ended = signal ? AbortSignal.any([signal, woken.signal]) : woken.signal
      if (!rung) await clock.sleep(ms, ended).catch(() => signal?.throwIfAborted())
      rung = false
      wake = () => {}
    },
  }
}
