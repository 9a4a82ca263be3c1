import { formatEther, parseEther } from 'viem'
import { utcText } from '../utc.ts'
import { usageError } from './flags.ts'

const shownUnit = 10n ** 12n

/** Formats wei for operators, rounded down to millionths: `1.5 ETH`. */
export const etherText = (wei: bigint): string =>
  `${formatEther(wei < shownUnit ? wei : wei - (wei % shownUnit))} ETH`

const sentUnit = 10n ** 14n

/** Rounds wei up to an amount that is easy to send. */
export const toSend = (wei: bigint): bigint => ((wei + sentUnit - 1n) / sentUnit) * sentUnit

/** Parses an amount of ether to wei. Throws SvcError `usage`. */
export function parseAmount(flag: string, text: string): bigint {
  if (!/^\d{1,12}(\.\d{1,18})?$/.test(text)) {
    throw usageError(`${flag} has to be an amount of ether, such as 1.5`, 'Write it in digits.')
  }
  return parseEther(text)
}

/** Parses a list of model tiers such as `0,1`. Throws SvcError `usage`. */
export function parseTiers(text: string): readonly number[] {
  const tiers = text.split(',').map((part) => part.trim())
  const areTiers = tiers.every((tier) => /^\d{1,3}$/.test(tier) && Number(tier) <= 255)
  const sorted = [...new Set(tiers.map(Number))].toSorted((a, b) => a - b)
  if (areTiers && sorted.length <= 16) return sorted
  throw usageError('--tiers has to be at most 16 numbers from 0 to 255', 'Write them as in 0,1.')
}

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
