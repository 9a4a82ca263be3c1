import { describe, expect, it } from 'vitest'
import type { ReputationStatement } from '../../lib/schemas/nodes.ts'
import { shareText, weightMovesText } from '../../lib/weight-moves.ts'
import { aJobId, anAddress } from '../branded.ts'

const daySeconds = 86_400
const client = anAddress(`0x${'c'.repeat(40)}`)
const body = (
  code: string,
  day: number,
  changes: Partial<ReputationStatement> = {},
): ReputationStatement => ({
  statement: 'svc-reputation-v2',
  id: `${day} ${code} ${JSON.stringify(changes)}`,
  address: anAddress(`0x${'a'.repeat(40)}`),
  jobId: aJobId(`0x${'1'.repeat(64)}`),
  ...{ code, client, at: day * daySeconds + 60 },
  ...changes,
})
const at = (day: number) => (day * daySeconds + 3_600) * 1_000

describe('what moved a node’s weight', () => {
  const events = [
    body('answer-delivered', 1),
    body('answer-agreed', 8),
    body('answer-agreed', 9),
    body('answer-agreed', 9, { again: true }),
    body('lease-lapsed', 9),
    body('answer-undecided', 9),
    body('answer-contradicted', 10, { client: 'newcomers' }),
    body('from-a-later-version', 10),
  ]

  it('is said in words for the last seven days, the largest first, in whatever order events are told', () => {
    const said =
      '110 to 107 in 7 days: +10 by agreeing with others (2 times), -8 by contradicting the agreement, -5 by letting a lease lapse'
    expect(weightMovesText(events, at(10))).toBe(said)
    expect(weightMovesText(events.toReversed(), at(10))).toBe(said)
  })

  it('adds up to the change', () => {
    const said = weightMovesText(events, at(10))
    const [, before, after] = /^(\d+) to (\d+)/.exec(said) ?? []
    const moves = [...said.matchAll(/([+-]\d+) by/g)].map(([, change]) => Number(change))
    expect(moves.reduce((sum, change) => sum + change, 0)).toBe(Number(after) - Number(before))
  })

  it('is nothing when nothing did', () => {
    expect(weightMovesText([], at(10))).toBe('100, and nothing moved it in 7 days')
    expect(weightMovesText(events, at(40))).toBe('107, and nothing moved it in 7 days')
  })
})

it('a share is of the weights of all active nodes, and of its own when it is not among them', () => {
  expect(shareText({ weight: 110, pool_weight: 330 })).toBe('33.33 % (weight 110 of 330)')
  expect(shareText({ weight: 10, pool_weight: 0 })).toBe('100.00 % (weight 10 of 0)')
})
