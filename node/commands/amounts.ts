import { formatEther } from 'viem'
import { utcText } from '../utc.ts'

const shownUnit = 10n ** 12n

/** Formats wei for operators, rounded down to millionths: `1.5 ETH`. */
export const etherText = (wei: bigint): string =>
  `${formatEther(wei < shownUnit ? wei : wei - (wei % shownUnit))} ETH`

const sentUnit = 10n ** 14n

/** Rounds wei up to an amount that is easy to send. */
export const toSend = (wei: bigint): bigint => ((wei + sentUnit - 1n) / sentUnit) * sentUnit

/** Formats Unix seconds as `2026-11-21 10:14:09 UTC`. */
export const timeText = (unixSeconds: number): string => `${utcText(unixSeconds * 1000)} UTC`

/** Formats a duration in its two largest units: `6 d 23 h`. */
export function durationText(seconds: number): string {
  const units = [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
    ['s', 1],
  ] as const
  let rest = Math.max(0, Math.floor(seconds))
  const parts: string[] = []
  for (const [name, size] of units) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0) parts.push(`${count} ${name}`)
  }
  return parts.slice(0, 2).join(' ') || '0 s'
}
