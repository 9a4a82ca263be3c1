// Thousands of nodes wait for news at a time, each for half a minute, and nearly all of them in vain. A timer, a signal and the frames of a
// function for each would be most of the memory of an ICL. So who waits is a row, and one timer for all looks for those whose time is over. News
// and the end of the time may come in either order and both be late: a row that has been woken is in the table no more, and is not woken twice.
import { type Clock, elapsedSince } from '../../lib/clock.ts'

/** A caller that waits for news under a key: the table adds what it needs to what its maker keeps there. */
export type Row = {
  readonly key: string
  /** In milliseconds since the table was made; set by it. */
  endsAt: number
  /** Called once, as a method, unless the row is dropped first: one function serves all rows of a kind. */
  readonly wake: () => void
  /** The next who waits under this key; set by the table. */
  next: Row | undefined
}

/** Who waits for news, until news come or their time is over. */
export type HoldTable = {
  /** Puts in a row that is in no table. */
  hold(row: Row, ms: number): void
  /** Takes out a row that waits no more. */
  drop(row: Row): void
  /** Who waits under a key, the newest first. */
  waiting(key: string): readonly Row[]
  notify(key: string): void
  notifyAll(): void
  readonly size: number
}

/** Rows are woken by so many milliseconds before their time at most, so that not each of them has the timer set anew. */
export const togetherMs = 100

/** An empty table on a clock. */
export function createHoldTable(clock: Clock): HoldTable {
  const madeAt = clock.monotonic()
  const rows = new Map<string, Row>()
  let size = 0
  let timer: { readonly at: number; readonly ended: AbortController } | undefined

  const wakeAll = (first: Row | undefined) => {
    for (let row = first; row; ) {
      const { next } = row
      size -= 1
      // Which may hold it again at once.
      row.wake()
      row = next
    }
  }
  const notify = (key: string) => {
    const first = rows.get(key)
    rows.delete(key)
    wakeAll(first)
  }
  const waiting = (key: string) => {
    const all: Row[] = []
    for (let row = rows.get(key); row; row = row.next) all.push(row)
    return all
  }
  const drop = (row: Row) => {
    const all = waiting(row.key)
    if (!all.includes(row)) return
    size -= 1
    relink(
      row.key,
      all.filter((one) => one !== row),
    )
  }
  const relink = (key: string, kept: readonly Row[]) => {
    for (const [index, one] of kept.entries()) one.next = kept[index + 1]
    const [first] = kept
    if (first) rows.set(key, first)
    else rows.delete(key)
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
    timer?.ended.abort()
    const mine = { at, ended: new AbortController() }
    timer = mine
    clock.sleep(Math.max(at - elapsedSince(clock, madeAt), 0), mine.ended.signal).then(
      () => {
        if (timer !== mine) return
        timer = undefined
        wakeDue()
      },
      () => {},
    )
  }
  return {
    get size() {
      return size
    },
    hold: (row, ms) => {
      row.endsAt = elapsedSince(clock, madeAt) + ms
      row.next = rows.get(row.key)
      rows.set(row.key, row)
      size += 1
      if (!timer || row.endsAt < timer.at) setTimer(row.endsAt)
    },
    drop,
    waiting,
    notify,
    notifyAll: () => {
      const all = [...rows.values()]
      rows.clear()
      for (const first of all) wakeAll(first)
    },
  }
}
