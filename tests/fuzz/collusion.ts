import { decide, quotaOf } from '../../lib/agreement-rule.ts'
import type { AgreementRule } from '../../lib/schemas/terms.ts'

const quorum = 3
const listLength = 9
/** What storing a prompt key costs, see docs/contracts.md. */
const gasOfKey = 247_079

/** Whether the answers of honest nodes match one another: all of them, or, of a model that only samples, none. */
export type Honest = 'agree' | 'differ'

/**
 * How likely nodes with a share of the weight of a large pool get an answer accepted that they made up together. Their answers match one another and
 * no honest one, and are decided on by the service's own rule.
 */
export function chanceOfFalseAnswer(share: number, rule: AgreementRule, honest: Honest): number {
  const result = quotaOf({ rule, quorum, listLength })
  if (result.outcome === 'refused') throw new RangeError(result.why)
  const { quota } = result
  const isMatch = (one: Answer, other: Answer) =>
    one.isFalse === other.isFalse && (one.isFalse || honest === 'agree')
  const chance = (answers: readonly Answer[]): number => {
    const decision = decide(answers, isMatch, quota)
    if (decision.outcome === 'accepted') return decision.group[0]?.isFalse ? 1 : 0
    if (decision.outcome === 'disputed') return 0
    return chanceOfMore(answers, decision.count)
  }
  const chanceOfMore = (answers: readonly Answer[], missing: number): number => {
    if (missing === 0) return chance(answers)
    const next = (isFalse: boolean) =>
      chanceOfMore([...answers, { isFalse, batch: 0, position: answers.length }], missing - 1)
    return share * next(true) + (1 - share) * next(false)
  }
  return chance([])
}

type Answer = { readonly isFalse: boolean; readonly batch: number; readonly position: number }

/** How likely at least one node of the first quorum colludes: it has read the prompt. */
export const chanceOfLeak = (share: number): number => 1 - (1 - share) ** quorum

/** What a client pays on average, in gas, until the first nodes of a list are all its own: for each list it stores a key. */
const gasOfOwnQuorum = (share: number): number => gasOfKey / share ** quorum

const percent = (chance: number): string => {
  const value = 100 * chance
  return `${value.toFixed(value < 0.1 ? 3 : value < 10 ? 2 : 1)} %`
}

const millions = (gas: number): string =>
  `${(gas / 1e6).toLocaleString('en', { maximumSignificantDigits: 3 })} M`

/** The rows of the table in docs/security.md. */
export const collusionRows = (): readonly string[] =>
  [0.01, 0.05, 0.1, 0.2, 0.33, 0.5].map((share) => {
    const cells = [
      `${Math.round(100 * share)} %`,
      percent(chanceOfLeak(share)),
      percent(chanceOfFalseAnswer(share, 'three', 'agree')),
      percent(chanceOfFalseAnswer(share, 'any-two', 'agree')),
      percent(chanceOfFalseAnswer(share, 'three', 'differ')),
      percent(chanceOfFalseAnswer(share, 'any-two', 'differ')),
      millions(gasOfOwnQuorum(share)),
    ]
    return `| ${cells.join(' | ')} |`
  })
