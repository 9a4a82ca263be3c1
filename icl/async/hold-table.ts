// Thousands of nodes wait for news at a time, each for half a minute, and nearly all in vain. A timer, a signal and the frames of an async
// function for each would take most of the memory of an ICL. So each waiting caller is a row, and one timer wakes the rows that are due.
// News and the timer may come in either order, and both late: a row leaves the table before it is woken, and is not woken twice.
import { type Clock, elapsedSince } from '../../lib/clock.ts'
import { callAfter } from '../../lib/deadline.ts'

/** A caller that waits for news under a key. Its maker may keep fields of its own in it. */
export type Row = {
  readonly key: string
  /** In milliseconds since the table was made; the table sets it. */
  endsAt: number
  /** Called once unless the row is dropped first, as a method, so that all rows of a kind can share one function. */
  readonly wake: () => void
  /** The next row under this key; the table sets it. */
  next: Row | undefined
}

/** Rows that wait until news come or their time is over. */
export type HoldTable = ReturnType<typeof createHoldTable>

/** How early the timer wakes a row at most, in milliseconds, so that one timer serves many rows. */
export const togetherMs = 100

/** Creates an empty table. */
export function createHoldTable(clock: Clock) {
  const madeAt = clock.monotonic()
  const rows = new Map<string, Row>()
  let size = 0
  let timer: { readonly at: number; readonly cancel: () => void } | undefined

  const wakeAll = (first: Row | undefined) => {
    for (let row = first; row; ) {
      const { next } = row
      size -= 1
      // The row may hold itself again at once.
      row.wake()
      row = next
    }
  }
  const notify = (key: string) => {
    const first = rows.get(key)
    rows.delete(key)
    wakeAll(first)
  }
  const waiting = (key: string): readonly Row[] => {
    const all: Row[] = []
    for (let row = rows.get(key); row; row = row.next) all.push(row)
    return all
  }
  const drop = (row: Row) => {
    const all = waiting(row.key)
    if (!all.includes(row)) return
    size -= 1
    const kept = all.filter((one) => one !== row)
    for (const [index, one] of kept.entries()) one.next = kept[index + 1]
    const [first] = kept
    if (first) rows.set(row.key, first)
    else rows.delete(row.key)
  }
  const wakeDue = () => {
    const until = elapsedSince(clock, madeAt) + togetherMs
    const due: Row[] = []
    let nextAt = Number.POSITIVE_INFINITY
    for (const first of rows.values()) {
      for (let row: Row | undefined = first; row; row = row.next) {
        if (row.endsAt <= until) due.push(row)
        else nextAt = Math.min(nextAt, row.endsAt)
      }
    }
    for (const row of due) drop(row)
    if (nextAt < Number.POSITIVE_INFINITY) setTimer(nextAt)
    for (const row of due) row.wake()
  }
  const setTimer = (at: number) => {
    timer?.cancel()
    const cancel = callAfter(clock, Math.max(at - elapsedSince(clock, madeAt), 0), () => {
      if (timer?.cancel !== cancel) return
      timer = undefined
      wakeDue()
    })
    timer = { at, cancel }
  }
  return {
    get size() {
      return size
    },
    /** Adds a row that is in no table, for `ms`. */
    hold: (row: Row, ms: number) => {
      row.endsAt = elapsedSince(clock, madeAt) + ms
      row.next = rows.get(row.key)
      rows.set(row.key, row)
      size += 1
      if (!timer || row.endsAt < timer.at) setTimer(row.endsAt)
    },
    /** Removes a row without waking it. */
    drop,
    notify,
    notifyAll: () => {
      const all = [...rows.values()]
      rows.clear()
      for (const first of all) wakeAll(first)
    },
  }
}
