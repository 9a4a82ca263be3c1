import { decide, quotaOf } from '../../lib/agreement-rule.ts'
import type { AgreementRule } from '../../lib/schemas/terms.ts'

const quorum = 3
const listLength = 9

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

/** How likely at least `least` of `count` independent draws fall on nodes with this share of the weight. */
export function chanceOfAtLeast(least: number, count: number, share: number): number {
  if (least <= 0) return 1
  if (count < least) return 0
  return (
    share * chanceOfAtLeast(least - 1, count - 1, share) +
    (1 - share) * chanceOfAtLeast(least, count - 1, share)
  )
}

/** What a list costs its client, in gas. */
export type ListGas = {
  /** `storeKey` with terms: each list that is drawn takes one. */
  readonly storeKey: number
  /** `commitList` of nine nodes: only the list that is used takes one. */
  readonly commitList: number
}

/**
 * What a client pays on average, in gas, until a list has enough nodes of its own for an agreement under `three`. It sees the list before it
 * commits to it, so a list that does not suit costs one stored key. While all nodes have room it needs its own among the first to be seated. When
 * the others are full, or an ICL that helps calls them so, any of the list will do.
 */
export function gasOfOwnQuorum(share: number, gas: ListGas, others: 'have room' | 'are full') {
  const result = quotaOf({ rule: 'three', quorum, listLength })
  if (result.outcome === 'refused') throw new RangeError(result.why)
  const { needed } = result.quota
  const chance =
    others === 'have room'
      ? chanceOfFalseAnswer(share, 'three', 'agree')
      : chanceOfAtLeast(needed, listLength, share)
  return gas.storeKey / chance + gas.commitList
}

const percent = (chance: number): string => {
  const value = 100 * chance
  return `${value.toFixed(value < 0.1 ? 3 : value < 10 ? 2 : 1)} %`
}

const millions = (gas: number): string =>
  `${(gas / 1e6).toLocaleString('en', { maximumSignificantDigits: 3 })} M`

/** The rows of the table in docs/security.md. */
export const collusionRows = (gas: ListGas): readonly string[] =>
  [0.01, 0.05, 0.1, 0.2, 0.33, 0.5].map((share) => {
    const cells = [
      `${Math.round(100 * share)} %`,
      percent(chanceOfLeak(share)),
      percent(chanceOfFalseAnswer(share, 'three', 'agree')),
      percent(chanceOfFalseAnswer(share, 'any-two', 'agree')),
      percent(chanceOfFalseAnswer(share, 'three', 'differ')),
      percent(chanceOfFalseAnswer(share, 'any-two', 'differ')),
      millions(gasOfOwnQuorum(share, gas, 'have room')),
      millions(gasOfOwnQuorum(share, gas, 'are full')),
    ]
    return `| ${cells.join(' | ')} |`
  })
