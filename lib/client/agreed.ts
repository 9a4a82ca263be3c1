import type { Address } from '../codecs.ts'
import { comparators } from '../comparators/all.ts'
import type { Usage } from '../schemas/answer.ts'
import type { Receipt } from '../schemas/receipt.ts'

// The length of the usual list. On a shorter list, a ring of a given size holds a larger share.
const usualListLength = 9

/** A node whose answer is outside the agreement, and how its evidence compares with the delivered answer's. */
export type Difference = {
  readonly node: Address
  /** `partly`: it matches the delivered answer, but not every answer of the agreement. */
  readonly how: 'different-answer' | 'inconclusive' | 'partly'
}

/** How many nodes gave an answer, and how many of these agree. */
export type Agreed = {
  readonly agreed: number
  readonly answers: number
  readonly differed: readonly Difference[]
  /** Turns to deliver that the deliverers gave back, each under the node's signature. */
  readonly givenBack: number
  /** Turns to deliver that failed by the ICL's word alone: no delivery came in time, or nobody checked it. */
  readonly lapsed: number
  readonly listLength: number
  /** True when the list has every node of the pool that could do the job. */
  readonly isWholePool: boolean
}

/** Returns the deliverer's answer. The receipt must have been checked. */
export function deliveredAnswer({ answers, tally }: Receipt): Receipt['answers'][number]['body'] {
  const answer = answers.find(({ body }) => body.address === tally.body.deliverer)
  if (!answer) throw new TypeError('The deliverer of a checked receipt has answered')
  return answer.body
}

/**
 * Returns the tokens of a checked receipt's answer: the lower median, for the prompt and the answer each, of the counts that nodes of the
 * agreement stated. Undefined unless most of them did, and two at least: one node alone must not choose them. Of two, it can lower them.
 */
export function usageIn({ answers, tally }: Receipt): Usage | undefined {
  const group = answers.filter((_, place) => (tally.body.group >> place) & 1)
  const stated = group.flatMap(({ body: { usage } }) => usage ?? [])
  if (stated.length < 2 || stated.length * 2 <= group.length) return undefined
  const median = (member: keyof Usage) =>
    stated.map((usage) => usage[member]).toSorted((a, b) => a - b)[(stated.length - 1) >> 1]
  const [input_tokens, output_tokens] = [median('input_tokens'), median('output_tokens')]
  if (input_tokens === undefined || output_tokens === undefined) return undefined
  return { input_tokens, output_tokens }
}

/** Summarises the answers of a receipt that was checked. */
export function agreedIn(receipt: Receipt): Agreed {
  const { answers, list, tally } = receipt
  const { members, terms } = list
  const { evidence } = deliveredAnswer(receipt)
  const { compare } = comparators[terms.comparator]
  const outside = answers.filter((_, place) => ((tally.body.group >> place) & 1) === 0)
  return {
    agreed: answers.length - outside.length,
    answers: answers.length,
    differed: outside.map(({ body }) => ({
      node: body.address,
      how: differences[compare(evidence, body.evidence)],
    })),
    ...turnsIn(receipt),
    listLength: members.length,
    isWholePool: members.length < terms.list_length,
  }
}

function turnsIn({ failed_deliveries: failed }: Receipt): Pick<Agreed, 'givenBack' | 'lapsed'> {
  const givenBack = failed.filter(({ abort }) => abort !== undefined).length
  const refused = failed.filter(({ reason }) => reason === 'output-refused').length
  return { givenBack, lapsed: failed.length - givenBack - refused }
}

const differences = {
  match: 'partly',
  'no-match': 'different-answer',
  inconclusive: 'inconclusive',
} as const

/** Returns a line such as `4 of 5 agreed; 1 differed (inconclusive)`. A list shorter than usual adds its length. */
export function describeAgreed(agreement: Agreed): string {
  const { agreed, answers, differed, givenBack, lapsed, listLength, isWholePool } = agreement
  const how = [...new Set(differed.map((difference) => difference.how.replace('-', ' ')))]
  return [
    `${agreed} of ${answers} agreed`,
    ...(differed.length > 0 ? [`${differed.length} differed (${how.join(', ')})`] : []),
    ...(givenBack > 0 ? [`${givenBack} gave the turn to deliver back`] : []),
    ...(lapsed > 0 ? [`${lapsed} let the turn to deliver pass, by the word of the ICL`] : []),
    ...(listLength < usualListLength
      ? [`the ${isWholePool ? 'pool' : 'list'} had ${listLength} nodes`]
      : []),
  ].join('; ')
}
