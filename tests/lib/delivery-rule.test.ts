import { expect, it } from 'vitest'
import { deliverers, settled } from '../../lib/delivery-rule.ts'

it('the members of the last batch deliver first, within a batch by their positions', () => {
  const group = [
    [0, 4],
    [2, 8],
    [1, 6],
    [2, 7],
    [0, 1],
  ] as const
  const members = group.map(([batch, position]) => ({ batch, position }))
  expect(deliverers(members).map(({ position }) => position)).toEqual([7, 8, 6, 1, 4])
})

it.each([
  [['match'], false, 'settled'],
  [['no-match'], false, 'output-refused'],
  [['match', 'no-match'], false, 'settled'],
  [['match', 'no-match', 'no-match'], false, 'output-refused'],
  [['match', 'match', 'no-match'], false, 'settled'],
  [['match', undefined], false, 'waiting'],
  [['no-match', undefined], false, 'waiting'],
  [['match', undefined], true, 'settled'],
  [['match', 'no-match', undefined], true, 'settled'],
  [['no-match', undefined], true, 'output-refused'],
  [[undefined, undefined], true, 'never-checked'],
  [[undefined, undefined], false, 'waiting'],
] as const)('a delivery with the checks %j, time up: %s, is %s', (checks, isTimeUp, outcome) => {
  expect(settled(checks, isTimeUp)).toBe(outcome)
})
