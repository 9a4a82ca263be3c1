import { decide, mostAnswers, type QuotaRequest, quotaOf } from '../../../lib/agreement-rule.ts'
import { settled } from '../../../lib/delivery-rule.ts'
import { AgreementRule } from '../../../lib/schemas/terms.ts'
import { createDice } from '../../simulation/dice.ts'

type Pair = readonly [number, number]

/** Quotas, and what answers decide, by which of them match. */
export async function agreementVectors(): Promise<object> {
  const requests: QuotaRequest[] = AgreementRule.options.flatMap((rule) =>
    [3, 4, 5, 7, 16].flatMap((listLength) =>
      [3, 5, 6].flatMap((quorum) =>
        [1, 4].map((minMatches) => ({ rule, quorum, listLength, minMatches })),
      ),
    ),
  )
  const quotas = requests.map((request) => {
    const result = quotaOf(request)
    return { ...request, ...(result.outcome === 'quota' ? result.quota : { refused: result.why }) }
  })
  const dice = createDice(11)
  const decisions = Array.from({ length: 60 }, () => {
    const count = 3 + Math.floor(dice.next() * 5)
    const density = 0.2 + dice.next() * 0.7
    const matches = pairs(count).filter(() => dice.chance(density))
    const quota = { quorum: 3, maxAnswers: mostAnswers, needed: 2 + Math.floor(dice.next() * 3) }
    const left = Math.floor(dice.next() * 5)
    const answers = Array.from({ length: count }, (_, position) => ({ batch: 0, position }))
    const decision = decide(
      answers,
      (one, other) => matches.some(isBetween(one.position, other.position)),
      quota,
      left,
    )
    const { outcome } = decision
    return {
      ...{ answers: count, matches, ...quota, left, outcome },
      ...(outcome === 'accepted' && { mask: decision.mask }),
      ...(outcome === 'more' && { count: decision.count }),
    }
  })
  const checks = ['match', 'no-match', null] as const
  const deliveries = checks.flatMap((one) =>
    checks.flatMap((other) =>
      [true, false].map((isTimeUp) => {
        const said = [one, other].map((check) => check ?? undefined)
        return { checks: [one, other], isTimeUp, outcome: settled(said, isTimeUp) }
      }),
    ),
  )
  return {
    about:
      '`matches` are the pairs of answers that match, by their places in the order of batch and position; bit i of `mask` is place i. `null` among the checks is none.',
    quotas,
    decisions,
    deliveries,
  }
}

const pairs = (count: number): readonly Pair[] =>
  Array.from({ length: count }, (_, one) =>
    Array.from({ length: one }, (_, other): Pair => [other, one]),
  ).flat()

const isBetween =
  (one: number, other: number) =>
  ([first, second]: Pair): boolean =>
    first === Math.min(one, other) && second === Math.max(one, other)
