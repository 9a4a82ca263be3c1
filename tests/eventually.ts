import { systemClock } from '../lib/system.ts'

const patienceMs = 240_000

/** Asks until `find` finds something. */
export async function eventually<T>(
  what: string,
  find: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const untilMs = performance.now() + patienceMs
  for (;;) {
    const found = await find()
    if (found !== undefined && found !== false) return found
    if (performance.now() > untilMs) throw new Error(`It never came to this: ${what}`)
    await systemClock.sleep(25)
  }
}

/** Waits until something holds; the limit of the test is its only one. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await systemClock.sleep(10)
}
