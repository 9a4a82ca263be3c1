import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  chanceOfAtLeast,
  chanceOfFalseAnswer,
  chanceOfLeak,
  collusionRows,
  gasOfOwnQuorum,
} from './collusion.ts'

const linesOf = (page: string): readonly string[] =>
  readFileSync(join(import.meta.dirname, '../../docs', page), 'utf8')
    .split('\n')
    .map((line) => line.replace(/ +/g, ' '))

/** The gas of a call by the table of docs/contracts.md, whose numbers tests/contracts/gas.test.ts measures. */
const gasOf = (call: string): number => {
  const row = linesOf('contracts.md').find((line) => line.startsWith(`| ${call} | `))
  return Number(row?.split(' | ')[1]?.replace(/[ ,|]/g, ''))
}
const gas = {
  storeKey: gasOf('`storeKey`, terms'),
  commitList: gasOf('`commitList`, 9 nodes, 3 with access'),
}

/** How likely at least `least` of `count` nodes collude. */
const atLeast = (least: number, count: number, share: number): number => {
  let sum = 0
  for (let mask = 0; mask < 1 << count; mask++) {
    const colluding = [...mask.toString(2)].filter((bit) => bit === '1').length
    if (colluding >= least) sum += share ** colluding * (1 - share) ** (count - colluding)
  }
  return sum
}

describe('the chances of colluding nodes', () => {
  it('are those of the formulas', () => {
    for (const share of [0, 0.05, 0.3, 0.5, 1]) {
      expect(chanceOfFalseAnswer(share, 'three', 'agree')).toBeCloseTo(atLeast(3, 5, share), 12)
      expect(chanceOfFalseAnswer(share, 'any-two', 'agree')).toBeCloseTo(atLeast(2, 3, share), 12)
      expect(chanceOfFalseAnswer(share, 'three', 'differ')).toBeCloseTo(atLeast(3, 7, share), 12)
      expect(chanceOfFalseAnswer(share, 'any-two', 'differ')).toBeCloseTo(atLeast(2, 5, share), 12)
      expect(chanceOfLeak(share)).toBeCloseTo(1 - (1 - share) ** 3, 12)
    }
  })

  it('are those that the docs tell', () => {
    const told = linesOf('security.md')
    for (const row of collusionRows(gas)) expect(told).toContain(row)
  })

  it('at a tenth of the weight are told in words, too', () => {
    const told = linesOf('security.md').join(' ').replace(/ +/g, ' ')
    const [one, three] = [chanceOfAtLeast(1, 9, 0.1), chanceOfAtLeast(3, 9, 0.1)]
    const tries = 1 / chanceOfFalseAnswer(0.1, 'three', 'agree')
    expect(told).toContain(`in ${(100 * one).toFixed(0)} % of lists, and three in`)
    expect(told).toContain(`three in ${(100 * three).toFixed(1)} %`)
    expect(told).toContain(
      `${Math.round(tries)} tries on average, or ${Math.round(1 / three)} with`,
    )
  })
})

it('the price of an own quorum is a stored key for each list that does not suit, and one commitment', () => {
  expect(gasOfOwnQuorum(1, gas, 'have room')).toBe(gas.storeKey + gas.commitList)
  for (const share of [0.05, 0.1, 0.2]) {
    const [alone, helped] = [atLeast(3, 5, share), atLeast(3, 9, share)]
    expect(chanceOfAtLeast(3, 9, share)).toBeCloseTo(helped, 12)
    const prices = [gasOfOwnQuorum(share, gas, 'have room'), gasOfOwnQuorum(share, gas, 'are full')]
    expect(prices[0]).toBeCloseTo(gas.storeKey / alone + gas.commitList, 0)
    expect(prices[1]).toBeCloseTo(gas.storeKey / helped + gas.commitList, 0)
  }
})
