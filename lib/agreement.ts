import type { Address, ComparatorId } from './codecs.ts'
import { comparators } from './comparators/all.ts'
import type { Evidence } from './schemas/evidence.ts'
import type { AgreementView, AnswerPair } from './schemas/jobs.ts'
import type { AgreementRule } from './schemas/terms.ts'

/** A node's answer, by its evidence. */
export type ShownAnswer = { readonly node: Address; readonly evidence: Evidence }

/** Compares each two answers, in the order given. */
function pairsOf(comparator: ComparatorId, answers: readonly ShownAnswer[]): AnswerPair[] {
  const { explain } = comparators[comparator]
  return answers.flatMap((one, index) =>
    answers.slice(index + 1).map((other) => {
      const { outcome, why, similarities } = explain(one.evidence, other.evidence)
      const nodes: [Address, Address] = [one.node, other.node]
      return { nodes, outcome, why, ...(similarities && { similarities: { ...similarities } }) }
    }),
  )
}

/** Views a job's agreement: how many answers agree, and how each two compare. `group` is empty when no group was large enough. */
export const viewAgreement = (of: {
  readonly comparator: ComparatorId
  readonly rule: AgreementRule
  /** The quota: answers that have to match one another. */
  readonly needed: number
  /** Ordered by batch and position. */
  readonly answers: readonly ShownAnswer[]
  readonly group: readonly Address[]
  readonly deliverer?: Address | undefined
}): AgreementView => ({
  rule: of.rule,
  needed: of.needed,
  answers: of.answers.length,
  group: [...of.group],
  ...(of.deliverer !== undefined && { deliverer: of.deliverer }),
  pairs: pairsOf(of.comparator, of.answers),
})
