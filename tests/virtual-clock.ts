import type { Clock } from '../lib/clock.ts'

type Timer = { readonly at: number; readonly fire: () => void }

/** A clock that moves only when a test moves it. */
export type VirtualClock = Clock & {
  /** Moves time on, firing what is due in order and letting each thing it caused finish. */
  advance(ms: number): Promise<void>
  /** Moves time on at once: whatever became due on the way fires now, as after a long sleep of the machine. */
  jump(ms: number): Promise<void>
}

/** Lets everything that was started come to rest: real cryptography completes on other threads. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

export function createVirtualClock(start = 1_750_000_000_000): VirtualClock {
  let now = start
  let timers: Timer[] = []
  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const timer = { at: now + ms, fire: () => resolve() }
        timers.push(timer)
        signal?.addEventListener(
          'abort',
          () => {
            timers = timers.filter((other) => other !== timer)
            reject(signal.reason)
          },
          { once: true },
        )
      }),
    advance: async (ms) => {
      const end = now + ms
      await settle()
      for (;;) {
        const next = timers
          .filter(({ at }) => at <= end)
          .reduce<Timer | undefined>((a, b) => (a && a.at <= b.at ? a : b), undefined)
        if (!next) break
        timers = timers.filter((other) => other !== next)
        now = Math.max(now, next.at)
        next.fire()
        await settle()
      }
      now = end
      await settle()
    },
    jump: async (ms) => {
      now += ms
      const due = timers.filter(({ at }) => at <= now)
      timers = timers.filter(({ at }) => at > now)
      for (const { fire } of due) fire()
      await settle()
    },
  }
}
