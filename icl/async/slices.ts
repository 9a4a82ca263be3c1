import type { Clock } from '../../lib/clock.ts'

const atOnce = 500

/** Maps many items, and lets other work run after each 500, so that it holds the thread for a few milliseconds at a time. */
export async function mapInSlices<T, R>(
  clock: Pick<Clock, 'sleep'>,
  items: readonly T[],
  work: (item: T, index: number) => readonly R[],
): Promise<readonly R[]> {
  const done: R[] = []
  for (let start = 0; start < items.length; start += atOnce) {
    if (start > 0) await clock.sleep(0)
    const end = Math.min(start + atOnce, items.length)
    for (let index = start; index < end; index++) done.push(...work(items[index] as T, index))
  }
  return done
}
