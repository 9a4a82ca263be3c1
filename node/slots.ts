import { type AssignmentId, nameOf } from './journal/read-journal.ts'

/** The node's job slots, and the assignments that it took. */
export type Slots = {
  /** How many more jobs may start now. */
  free(): number
  /** How many jobs hold a slot. */
  used(): number
  /** Jobs that have not ended, including those that wait for other nodes. */
  running(): readonly Promise<void>[]
  /** Aborts when a full node has a free slot, and when no job runs any more. */
  news(): AbortSignal
  /** True for an assignment that the node works on or has tried. */
  isTaken(id: AssignmentId): boolean
  /** Starts a job. The job holds a slot until it frees it or ends. */
  start(id: AssignmentId, job: (freeSlot: () => void) => Promise<void>): void
}

/** The limit for jobs that have not ended. A job that has committed holds no slot, but memory. */
export const mostUnended = 256

const rememberedAssignments = 1_000

/** Makes `count` slots. */
export function createSlots(count: number): Slots {
  const holding = new Set<symbol>()
  const running = new Set<Promise<void>>()
  const taken = new Set<string>()
  let next = new AbortController()
  // More jobs may be resumed than there are slots.
  const free = () => Math.max(0, Math.min(count - holding.size, mostUnended - running.size))
  const tellIfFree = (change: () => void) => {
    const before = free()
    change()
    if (!(before === 0 && free() > 0) && running.size > 0) return
    next.abort()
    next = new AbortController()
  }
  return {
    free,
    used: () => holding.size,
    running: () => [...running],
    news: () => next.signal,
    isTaken: (id) => taken.has(nameOf(id)),
    start(id, job) {
      const slot = Symbol(nameOf(id))
      holding.add(slot)
      taken.add(nameOf(id))
      const [oldest] = taken
      if (taken.size > rememberedAssignments && oldest !== undefined) taken.delete(oldest)
      const work = job(() => tellIfFree(() => holding.delete(slot))).finally(() =>
        tellIfFree(() => {
          holding.delete(slot)
          running.delete(work)
        }),
      )
      running.add(work)
    },
  }
}
