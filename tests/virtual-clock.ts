import type { Clock } from '../lib/clock.ts'

type Timer = { readonly at: number; readonly order: number; readonly fire: () => void }

/** A clock that moves only when a test says so. */
export type VirtualClock = Clock & {
  /** Fires every timer up to `ms` from now, and lets each one's consequences finish before the next. */
  advance(ms: number): Promise<void>
  /** Moves time on at once: whatever became due on the way fires now, as after a long sleep of the machine. */
  jump(ms: number): Promise<void>
  /** Moves from timer to timer until `work` has settled. */
  until<T>(work: Promise<T>): Promise<T>
}

// WebCrypto works on other threads: time must not move while it does.
let busy = 0
const counted = [
  'digest',
  'sign',
  'verify',
  'encrypt',
  'decrypt',
  'importKey',
  'exportKey',
  'deriveBits',
] as const
for (const name of counted) {
  const original = crypto.subtle[name].bind(crypto.subtle) as (
    ...args: unknown[]
  ) => Promise<unknown>
  Object.assign(crypto.subtle, {
    [name]: async (...args: unknown[]) => {
      busy++
      try {
        return await original(...args)
      } finally {
        busy--
      }
    },
  })
}

async function settle(): Promise<void> {
  for (let quiet = 0; quiet < 4; quiet = busy > 0 ? 0 : quiet + 1) {
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Makes a virtual clock. */
export function createVirtualClock(startMs = 1_800_000_000_000): VirtualClock {
  let now = startMs
  let order = 0
  let timers: Timer[] = []

  const step = async (limit: number): Promise<boolean> => {
    await settle()
    const next = timers.toSorted((a, b) => a.at - b.at || a.order - b.order)[0]
    if (next === undefined || next.at > limit) return false
    timers = timers.filter((timer) => timer !== next)
    now = next.at
    next.fire()
    await settle()
    return true
  }

  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const onAbort = () => {
          timers = timers.filter((other) => other !== timer)
          reject(signal?.reason)
        }
        const fire = () => {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        }
        const timer = { at: now + ms, order: order++, fire }
        timers.push(timer)
        signal?.addEventListener('abort', onAbort, { once: true })
      }),
    async advance(ms) {
      const limit = now + ms
      while (await step(limit));
      now = Math.max(now, limit)
    },
    async jump(ms) {
      await settle()
      now += ms
      const due = timers.filter(({ at }) => at <= now)
      timers = timers.filter(({ at }) => at > now)
      for (const { fire } of due) fire()
      await settle()
    },
    async until(work) {
      let isDone = false
      const finished = () => {
        isDone = true
      }
      work.then(finished, finished)
      await settle()
      while (!isDone) {
        if (!(await step(Number.POSITIVE_INFINITY)) && !isDone) {
          throw new Error('nothing left to happen, and the work is not done')
        }
      }
      return await work
    },
  }
}
