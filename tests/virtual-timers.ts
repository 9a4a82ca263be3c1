/** Something that is due at a time, in milliseconds. */
type Timer = { readonly at: number; readonly order: number; readonly fire: () => void }

/** Timers by their time, and by the order in which they were set where that is the same. */
type Timers = {
  add(at: number, fire: () => void): Timer
  remove(timer: Timer): void
  /** Takes the first one out unless it is due after `limit`. */
  takeFirst(limit: number): Timer | undefined
  /** Takes out all that are due until `limit`, in the order in which they were set. */
  takeUntil(limit: number): readonly Timer[]
}

/** Makes an empty heap of timers; a removed one leaves it when its time has come, or when most of the heap is such. */
export function createTimers(): Timers {
  const heap: Timer[] = []
  const removed = new Set<Timer>()
  let order = 0
  const at = (index: number): Timer => heap[index] as Timer
  const isBefore = (a: Timer, b: Timer) => a.at < b.at || (a.at === b.at && a.order < b.order)
  const swap = (a: number, b: number) => {
    const timer = at(a)
    heap[a] = at(b)
    heap[b] = timer
  }
  const rise = (from: number) => {
    for (let child = from; child > 0; ) {
      const parent = (child - 1) >> 1
      if (isBefore(at(parent), at(child))) return
      swap(parent, child)
      child = parent
    }
  }
  const sink = () => {
    for (let parent = 0; ; ) {
      const [left, right] = [2 * parent + 1, 2 * parent + 2]
      if (left >= heap.length) return
      const child = right < heap.length && isBefore(at(right), at(left)) ? right : left
      if (isBefore(at(parent), at(child))) return
      swap(parent, child)
      parent = child
    }
  }
  const pop = () => {
    const [first] = heap
    const last = heap.pop()
    if (last && heap.length > 0) {
      heap[0] = last
      sink()
    }
    return first
  }
  const takeFirst = (limit: number) => {
    while (heap[0] && removed.delete(heap[0])) pop()
    return heap[0] && heap[0].at <= limit ? pop() : undefined
  }
  return {
    add: (time, fire) => {
      const timer = { at: time, order: order++, fire }
      rise(heap.push(timer) - 1)
      return timer
    },
    remove: (timer) => {
      removed.add(timer)
      if (removed.size < 1_000 || 2 * removed.size < heap.length) return
      const rest = heap.filter((other) => !removed.has(other))
      removed.clear()
      heap.length = 0
      for (const other of rest) rise(heap.push(other) - 1)
    },
    takeFirst,
    takeUntil: (limit) => {
      const due: Timer[] = []
      for (let next = takeFirst(limit); next; next = takeFirst(limit)) due.push(next)
      return due.sort((a, b) => a.order - b.order)
    },
  }
}
