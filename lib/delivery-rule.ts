import type { Placed } from './agreement-rule.ts'

/**
 * Returns an accepted group in the order in which its members deliver: the first, then the next when it fails. Members of later batches
 * come first, because they may have copied the evidence of earlier ones, which has no text. Within a batch the list's order counts.
 */
export const deliverers = <Member extends Placed>(group: readonly Member[]): readonly Member[] =>
  group.toSorted((a, b) => b.batch - a.batch || a.position - b.position)

/** A checker's verdict on a delivery; undefined while there is none. */
type Check = 'match' | 'no-match' | undefined

/**
 * Decides on a delivery by the other members' verdicts. It is `waiting` until all have answered or their time is up. It has `settled` with
 * at least one match and no fewer matches than mismatches. Else it has failed, and the next member delivers: a checker refused the output,
 * or none could check it. A tie settles, so that one liar cannot reject deliveries until its own turn comes.
 */
export function settled(
  checks: readonly Check[],
  isTimeUp: boolean,
): 'settled' | 'output-refused' | 'never-checked' | 'waiting' {
  if (!isTimeUp && checks.includes(undefined)) return 'waiting'
  const matches = checks.filter((check) => check === 'match').length
  const mismatches = checks.filter((check) => check === 'no-match').length
  if (matches >= 1 && matches >= mismatches) return 'settled'
  return mismatches >= 1 ? 'output-refused' : 'never-checked'
}
