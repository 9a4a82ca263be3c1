import { systemClock } from '../../lib/system.ts'
import type { Dice } from '../simulation/dice.ts'
import type { Load } from './load.ts'
import type { Control } from './preload.ts'
import type { Part, StoreKind, World } from './world.ts'

/** Where a fault is put in. */
export type Stage = {
  readonly world: World
  readonly load: Load
  readonly dice: Dice
  readonly signal: AbortSignal
  /** Bounds how long a fault lasts, in milliseconds. */
  readonly longestMs: number
  /** Notes what is wrong with the files that an ICL left behind. */
  readonly noteDamage: (what: string) => void
}

/** One kind of fault. */
export type FaultKind = {
  readonly name: string
  readonly stores: readonly StoreKind[]
  /** Whether it is made by the preload. */
  readonly needsPreload?: boolean
  /** Puts it in and takes it back; resolves with what exactly was done. */
  readonly put: (stage: Stage) => Promise<string>
}

const askMs = 50
const patienceMs = 60_000

/** Waits until something holds; false when it takes longer than a minute. */
export async function comesTo(
  holds: () => boolean | Promise<boolean>,
  ms = patienceMs,
): Promise<boolean> {
  const end = performance.now() + ms
  while (!(await holds())) {
    if (performance.now() > end) return false
    await systemClock.sleep(askMs)
  }
  return true
}

/** Lets a fault last for some seconds, and tells for how many. */
export async function last(
  { dice, longestMs, signal }: Stage,
  fromSeconds: number,
  toSeconds: number,
): Promise<string> {
  const ms = Math.min(1_000 * dice.between(fromSeconds, toSeconds), longestMs)
  await systemClock.sleep(ms, signal).catch(() => {})
  return `${ms / 1_000} s`
}

/** What steers the faults of a part's disk and clock. */
export function controlOf({ name, control }: Part): Control {
  if (control === undefined) throw new Error(`${name} runs without the preload`)
  return control
}

/** Waits for an end that was set up to come; a part that does not get there is killed. */
export async function endItself(part: Part): Promise<string> {
  const process = part.process()
  if (await comesTo(() => process.hasExited())) return ''
  await part.end()
  return ' (not reached: killed)'
}

/** Starts an ICL again after looking at the files that it left behind. */
export async function startIclAgain({ world, noteDamage }: Stage): Promise<void> {
  const damage = await world.damage()
  if (damage !== undefined) noteDamage(damage)
  await world.icl.start()
}

type Told = { readonly reasons?: readonly string[]; readonly detail?: string }

/** How an ICL says that it is. */
export async function healthOf(url: string) {
  const ask = async (path: string) => {
    const response = await fetch(`${url}${path}`, { signal: AbortSignal.timeout(5_000) })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  try {
    const [health, ready] = [await ask('/health'), await ask('/readyz')]
    // One that is not ready tells why in a problem.
    const { detail, reasons = detail === undefined ? [] : [detail] } = ready.body as Told
    return { connected: health.body.mongo_connected === true, ready: ready.status, reasons }
  } catch {
    return { connected: false, ready: 0, reasons: [] }
  }
}

/** Whether nothing is missing: the database answers, and no save waits for it. */
export async function isWhole(url: string): Promise<boolean> {
  const { connected, ready, reasons } = await healthOf(url)
  return connected && ready === 200 && reasons.length === 0
}
