import { beforeEach, describe, expect, it } from 'vitest'
import { createHoldTable, type HoldTable, type Row } from '../../../icl/async/hold-table.ts'
import { createVirtualClock } from '../../virtual-clock.ts'

let clock: ReturnType<typeof createVirtualClock>
let table: HoldTable
let woken: string[]

beforeEach(() => {
  clock = createVirtualClock()
  table = createHoldTable(clock)
  woken = []
})

function hold(name: string, key: string, ms: number): Row {
  const row: Row = { key, endsAt: 0, next: undefined, wake: () => void woken.push(name) }
  table.hold(row, ms)
  return row
}

describe('a table of those who wait', () => {
  it('wakes all under a key at news, once, and nobody else', async () => {
    hold('a', 'k', 5_000)
    hold('b', 'k', 9_000)
    hold('c', 'other', 9_000)
    table.notify('k')
    table.notify('k')
    expect(woken.toSorted()).toEqual(['a', 'b'])
    await clock.advance(10_000)
    expect(woken.toSorted()).toEqual(['a', 'b', 'c'])
    expect(table.size).toBe(0)
  })

  it('wakes each when its time is over, also one that came later and ends earlier', async () => {
    hold('late', 'k', 9_000)
    hold('early', 'k', 2_000)
    await clock.advance(1_800)
    expect(woken).toEqual([])
    await clock.advance(300)
    expect(woken).toEqual(['early'])
    await clock.advance(7_000)
    expect(woken).toEqual(['early', 'late'])
  })

  it('forgets one that is dropped, and keeps the others under its key', async () => {
    hold('a', 'k', 1_000)
    const dropped = hold('b', 'k', 1_000)
    hold('c', 'k', 1_000)
    table.drop(dropped)
    table.drop(dropped)
    expect(table.size).toBe(2)
    table.notifyAll()
    await clock.advance(2_000)
    expect(woken.toSorted()).toEqual(['a', 'c'])
  })

  it('holds a row again that is held again as it is woken', async () => {
    const row: Row = {
      key: 'k',
      endsAt: 0,
      next: undefined,
      wake: () => {
        woken.push('again')
        if (woken.length < 3) table.hold(row, 1_000)
      },
    }
    table.hold(row, 1_000)
    table.notify('k')
    expect(woken).toHaveLength(1)
    await clock.advance(5_000)
    expect(woken).toHaveLength(3)
    expect(table.size).toBe(0)
  })
})
