import { type Clock, monotonicMs } from '../lib/clock.ts'
import { createTimers } from './virtual-timers.ts'

/** A clock that moves only when a test says so. */
export type VirtualClock = Clock & {
  /** Fires every timer up to `ms` from now, and lets each one's consequences finish before the next. */
  advance(ms: number): Promise<void>
  /** Moves time on at once: whatever became due on the way fires now, as after a long sleep of the machine. */
  jump(ms: number): Promise<void>
  /** Sets the time of day `ms` ahead, or back: no time passes, and no timer fires. */
  leap(ms: number): void
  /** Moves from timer to timer until `work` has settled. */
  until<T>(work: Promise<T>): Promise<T>
}

type Outcome = { readonly value: unknown } | { readonly error: unknown }
type Delivery = {
  readonly outcome: Promise<Outcome>
  readonly give: (outcome: Outcome) => void
  readonly end: () => void
}

/** What time waits for, with what it is called when that takes too long. */
const underWay = new Set<{ readonly what: string }>()
const begin = (what: string): (() => void) => {
  const mark = { what }
  underWay.add(mark)
  return () => {
    underWay.delete(mark)
  }
}

const deliveries: Delivery[] = []
let isDelivering = false

// An edge host has timers only.
const soon: (go: () => void) => unknown = globalThis.setImmediate ?? ((go) => setTimeout(go, 0))
// Bun's event loop may fall asleep over an immediate that was set after the work of another thread: a timer wakes it.
const wakeMs = 10
let isAwake = false

/** Has a timer ready at all times on Bun, in case that the loop falls asleep over one that was set too late, too. */
function stayAwake(): void {
  if (isAwake || !('Bun' in globalThis)) return
  isAwake = true
  setInterval(() => {}, wakeMs).unref()
}

const turn = () =>
  new Promise<void>((resolve) => {
    const alarm = setTimeout(resolve, wakeMs)
    soon(() => {
      clearTimeout(alarm)
      resolve()
    })
  })

/** Hands over one result at a time, in the order of the calls, each when everything that the one before caused is done. */
async function deliver(): Promise<void> {
  isDelivering = true
  for (;;) {
    await turn()
    const next = deliveries.shift()
    if (next === undefined) break
    next.give(await next.outcome)
    next.end()
  }
  isDelivering = false
}

/**
 * What `work` gives, in the order in which such calls were made: what other threads and streams complete comes in another order
 * on every runtime, and at every run. Time does not move meanwhile.
 */
export function inCallOrder<T>(work: () => Promise<T>): Promise<T> {
  const end = begin('a call whose result comes in turn')
  const outcome = work().then(
    (value): Outcome => ({ value }),
    (error: unknown): Outcome => ({ error }),
  )
  return new Promise<T>((resolve, reject) => {
    const give = (settled: Outcome) =>
      'error' in settled ? reject(settled.error) : resolve(settled.value as T)
    deliveries.push({ outcome, give, end })
    if (!isDelivering) void deliver()
  })
}

// WebCrypto works on other threads: time must not move while it does.
const counted = [
  'digest',
  'sign',
  'verify',
  'encrypt',
  'decrypt',
  'importKey',
  'exportKey',
  'deriveBits',
  'generateKey',
] as const
let isWatching = false
let inOrder = 0

function watchCrypto(): void {
  if (isWatching) return
  isWatching = true
  for (const name of counted) {
    const original = crypto.subtle[name].bind(crypto.subtle) as (
      ...args: unknown[]
    ) => Promise<unknown>
    const work = (...args: unknown[]) =>
      inOrder > 0 ? inCallOrder(async () => original(...args)) : whileBusy(name, original(...args))
    Object.assign(crypto.subtle, { [name]: work })
  }
}

async function whileBusy<T>(what: string, work: Promise<T>): Promise<T> {
  const end = begin(what)
  try {
    return await work
  } finally {
    end()
  }
}

/** Has what WebCrypto gives come in the order of the calls, in the whole process, until the function that this gives is called. */
export function keepCryptoInOrder(): () => void {
  watchCrypto()
  let isOver = false
  inOrder++
  return () => {
    if (!isOver) inOrder--
    isOver = true
  }
}

/** Holds time still while something outside this thread is under way, such as a request; call what it gives when that is over. */
export const holdTime = (): (() => void) => begin('something outside this thread')

// Less than what a test may take, so that it says why.
const patienceMs = 50_000
/** What one turn counts at most: the machine may have slept. */
const mostMsOfTurn = 10_000

async function settle(turns: number): Promise<void> {
  let waitedMs = 0
  let all = 0
  for (let quiet = 0; quiet < turns; quiet = underWay.size > 0 ? 0 : quiet + 1) {
    const startedAt = performance.now()
    await turn()
    all++
    waitedMs += Math.min(performance.now() - startedAt, mostMsOfTurn)
    if (waitedMs < patienceMs) continue
    const names = [...underWay].map(({ what }) => what).join(', ') || 'nothing'
    throw new Error(`virtual time stood still for ${all} turns of the loop; under way: ${names}`)
  }
}

/** Makes a virtual clock; `turns` of the event loop without work of other threads count as quiet. */
export function createVirtualClock(startMs = 1_800_000_000_000, turns = 4): VirtualClock {
  watchCrypto()
  stayAwake()
  let now = startMs
  let leaptMs = 0
  const timers = createTimers()

  const step = async (limit: number): Promise<boolean> => {
    const next = timers.takeFirst(limit)
    if (next === undefined) return false
    now = next.at
    next.fire()
    await settle(turns)
    return true
  }

  return {
    now: () => now + leaptMs,
    monotonic: () => monotonicMs(now),
    leap: (ms) => {
      leaptMs += ms
    },
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const onAbort = () => {
          timers.remove(timer)
          reject(signal?.reason)
        }
        const timer = timers.add(now + ms, () => {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        })
        signal?.addEventListener('abort', onAbort, { once: true })
      }),
    async advance(ms) {
      const limit = now + ms
      await settle(turns)
      while (await step(limit));
      now = Math.max(now, limit)
    },
    async jump(ms) {
      await settle(turns)
      now += ms
      for (const { fire } of timers.takeUntil(now)) fire()
      await settle(turns)
    },
    async until(work) {
      let isDone = false
      const finished = () => {
        isDone = true
      }
      work.then(finished, finished)
      await settle(turns)
      while (!isDone) {
        if (!(await step(Number.POSITIVE_INFINITY)) && !isDone) {
          throw new Error('nothing left to happen, and the work is not done')
        }
      }
      return await work
    },
  }
}
