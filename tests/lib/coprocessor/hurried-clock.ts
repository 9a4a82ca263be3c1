import { type Clock, monotonicMs } from '../../../lib/clock.ts'

/** Waits are recorded and over at once, deadlines (a minute and more) never come; `aheadMs` is added to the time. */
export const hurriedClock = (): Clock & { readonly waits: number[]; aheadMs: number } => {
  const waits: number[] = []
  const clock = {
    waits,
    aheadMs: 0,
    now: () => 1_800_000_000_000 + clock.aheadMs,
    monotonic: () => monotonicMs(clock.aheadMs),
    sleep: (ms: number, signal?: AbortSignal) => {
      if (ms >= 60_000) {
        return new Promise<void>((_, reject) =>
          signal?.addEventListener('abort', () => reject(signal.reason), { once: true }),
        )
      }
      waits.push(ms)
      return Promise.resolve()
    },
  }
  return clock
}
