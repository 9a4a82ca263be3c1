import type { Comparator } from '../../../lib/comparators/comparator.ts'
import { hiddenRuns, noMatchRate, pairRate, ratesOf } from './agreement-rates.ts'
import type { RecordedQuestion } from './answers-file.ts'
import { doubtsOf } from './doubt.ts'
import { groupsOf } from './groups.ts'
import { measure } from './measure.ts'
import { measuredRules, seats } from './play-job.ts'
import type { SetFigures } from './tables.ts'

/** Compares the answers of a set, and plays jobs over them by every rule. */
export async function figuresOf(
  set: string,
  questions: readonly RecordedQuestion[],
  comparator: Comparator,
  keys: number,
  onProgress?: (share: number) => void,
): Promise<SetFigures> {
  const measured = await measure(set, questions, comparator, keys, onProgress)
  return {
    set,
    questions: measured.length,
    incomplete: measured.filter(({ texts }) => texts.length < seats).length,
    paired: measured.filter(({ texts }) => texts.length > 1).length,
    pair: pairRate(measured),
    noMatch: noMatchRate(measured),
    hidden: [1, 2, 3].map((left) => ({ left, ...hiddenRuns(measured, measuredRules, left) })),
    rules: ratesOf(measured, measuredRules),
    doubts: doubtsOf(measured),
    groups: groupsOf(measured),
  }
}
