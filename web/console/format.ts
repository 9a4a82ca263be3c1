import type { Cause } from '../../lib/causes/cause.ts'
import { lineOf } from '../../lib/causes/line.ts'
import { storyCauses } from '../../lib/causes/story.ts'

const units: readonly (readonly [string, number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
]

/** Formats a number of seconds in its largest unit, such as `3 min`. */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  for (const [unit, size] of units) {
    if (whole >= size) return `${Math.floor(whole / size)} ${unit}`
  }
  return `${whole} s`
}

/** Formats how long a job took, such as `4.2 s`. */
export const took = (seconds: number): string =>
  seconds < 100 ? `${seconds.toFixed(1)} s` : span(seconds)

/** Formats Unix seconds as a time of day in UTC. */
export const clockTime = (at: number, withSeconds = false): string =>
  new Date(at * 1000).toISOString().slice(11, withSeconds ? 19 : 16)

/** Formats Unix seconds as a date and time in UTC. */
export const fullTime = (at: number): string =>
  `${new Date(at * 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`

/** Shortens a long hex text to its two ends. */
export const short = (hex: string): string =>
  hex.length > 18 ? `${hex.slice(0, 8)}…${hex.slice(-6)}` : hex

/** Formats a number with separated thousands. */
export const count = (value: number): string => value.toLocaleString('en')

/** Turns a reason code into words. */
export const words = (code: string): string => code.replaceAll('-', ' ')

const known: Readonly<Record<string, Cause | undefined>> = storyCauses

/** Says why something failed and who has to act; the code in words when it is no failure. */
export function whyText(code: string, model: string): string {
  const cause = known[code]
  return cause ? lineOf(cause, undefined, model) : words(code)
}

/** The tiers that a node serves. */
export const tiersText = ({ tiers }: { readonly tiers: readonly number[] }): string =>
  tiers.join(', ') || 'none'

/** Names a seat, counted from 1. */
export const seatName = (seat: number): string => `seat ${seat + 1}`
