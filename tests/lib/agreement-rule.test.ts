import { describe, expect, it } from 'vitest'
import {
  decide,
  mostAnswers,
  type Placed,
  type Quota,
  type QuotaRequest,
  quotaOf,
} from '../../lib/agreement-rule.ts'
import type { AgreementRule } from '../../lib/schemas/terms.ts'
import { createDice } from '../simulation/dice.ts'

type Graph = readonly (readonly boolean[])[]
type Answer = Placed & { readonly id: number }

const rules: readonly AgreementRule[] = ['three', 'any-two', 'majority']

const quota = (request: QuotaRequest): Quota => {
  const found = quotaOf(request)
  if (found.outcome === 'refused') throw new Error(found.why)
  return found.quota
}

/** The graph whose edges are the bits of a number. */
function graphOf(nodes: number, bits: number): Graph {
  const graph = Array.from({ length: nodes }, () => new Array<boolean>(nodes).fill(false))
  let rest = bits
  for (let one = 1; one < nodes; one++) {
    for (let other = 0; other < one; other++) {
      const row = graph[one]
      const column = graph[other]
      if (row && column) row[other] = column[one] = (rest & 1) === 1
      rest >>>= 1
    }
  }
  return graph
}

/** Every symmetric graph of up to five nodes, and some of six and seven. */
function* graphs(): Generator<Graph> {
  for (let nodes = 0; nodes <= 5; nodes++) {
    for (let bits = 0; bits < 2 ** ((nodes * (nodes - 1)) / 2); bits++) yield graphOf(nodes, bits)
  }
  const dice = createDice(7)
  for (const nodes of [6, 7]) {
    for (let draw = 0; draw < 500; draw++) {
      const density = dice.next()
      let bits = 0
      for (let edge = 0; edge < (nodes * (nodes - 1)) / 2; edge++) {
        bits = bits * 2 + (dice.chance(density) ? 1 : 0)
      }
      yield graphOf(nodes, bits)
    }
  }
}

/** Answers of which the first `quorum` are the first batch, and each other one is a batch of its own. */
const answersOf = (count: number, quorum = 3): Answer[] =>
  Array.from({ length: count }, (_, id) => ({
    id,
    batch: Math.max(0, id - quorum + 1),
    position: id,
  }))

const matchIn =
  (graph: Graph) =>
  (one: Answer, other: Answer): boolean =>
    graph[one.id]?.[other.id] === true

/** All groups in which each two match, told by a way of its own: each is a smaller one with one more answer. */
function cliquesOf(graph: Graph): readonly (readonly number[])[] {
  let grown: (readonly number[])[] = [[]]
  const found: (readonly number[])[] = []
  while (grown.length > 0) {
    grown = grown.flatMap((group) =>
      graph.flatMap((row, next) =>
        next > (group.at(-1) ?? -1) && group.every((member) => row[member])
          ? [[...group, next]]
          : [],
      ),
    )
    found.push(...grown)
  }
  return found
}

const maskOf = (group: readonly number[]): number => group.reduce((mask, id) => mask + 2 ** id, 0)

describe('a quota', () => {
  it.each([
    // rule, quorum, list, min_matches -> most answers, needed
    ['three', 3, 9, 1, 7, 3],
    ['three', 3, 5, 1, 5, 3],
    ['three', 3, 4, 1, 4, 3],
    ['three', 3, 3, 1, 3, 2],
    ['three', 3, 3, 2, 3, 3],
    ['three', 5, 9, 1, 7, 3],
    ['three', 6, 9, 1, 7, 4],
    ['any-two', 3, 7, 1, 5, 2],
    ['any-two', 3, 3, 1, 3, 2],
    ['any-two', 4, 7, 1, 5, 3],
    ['any-two', 3, 7, 3, 5, 4],
    ['majority', 3, 9, 1, 5, 3],
    ['majority', 3, 4, 1, 4, 3],
    ['majority', 3, 3, 1, 3, 2],
    ['majority', 3, 9, 4, 5, 5],
  ] as const)('of %s, %i at first, %i on the list, %i others', (...row) => {
    const [rule, quorum, listLength, minMatches, maxAnswers, needed] = row
    expect(quotaOf({ rule, quorum, listLength, minMatches })).toEqual({
      outcome: 'quota',
      quota: { quorum, maxAnswers, needed },
    })
  })

  it('is that of up to seven where the client asks for seven', () => {
    const seven = { quorum: 3, listLength: 9, maxAnswers: 7 }
    expect(quota({ ...seven, rule: 'majority' })).toMatchObject({ maxAnswers: 7, needed: 4 })
  })

  it.each([
    [{ rule: 'any-two', quorum: 3, listLength: 9, minMatches: 5 }, /6 answers .* at most 5/],
    [{ rule: 'three', quorum: 3, listLength: 3, minMatches: 3 }, /4 answers .* at most 3/],
    [{ rule: 'three', quorum: 3, listLength: 2 }, /the list has 2/],
    [{ rule: 'three', quorum: 2, listLength: 9 }, /at least 3 nodes/],
    [{ rule: 'any-two', quorum: 6, listLength: 9 }, /quorum of 6 .* 5 answers/],
    [{ rule: 'three', quorum: 3, listLength: 16, maxAnswers: 8 }, /at most 7 answers/],
  ] as const)('is refused: %j', (request, why) => {
    expect(quotaOf(request)).toEqual({ outcome: 'refused', why: expect.stringMatching(why) })
  })

  it('is more than half of the quorum, whatever is asked for', () => {
    for (const rule of rules) {
      for (let quorum = 3; quorum <= mostAnswers; quorum++) {
        for (let listLength = 0; listLength <= 16; listLength++) {
          for (let minMatches = 0; minMatches <= mostAnswers; minMatches++) {
            const found = quotaOf({ rule, quorum, listLength, minMatches })
            if (found.outcome === 'refused') continue
            const { maxAnswers, needed } = found.quota
            expect(2 * needed > quorum && needed > minMatches && needed <= maxAnswers).toBe(true)
            expect(quorum <= maxAnswers && maxAnswers <= listLength).toBe(true)
          }
        }
      }
    }
  })
})

const quotas = [
  ...rules.flatMap((rule) => [3, 4, 9].map((list) => quota({ rule, quorum: 3, listLength: list }))),
  quota({ rule: 'three', quorum: 5, listLength: 9 }),
  quota({ rule: 'majority', quorum: 3, listLength: 9, maxAnswers: 7 }),
]

describe('answers', () => {
  it('decide as the largest group of those that match one another, the earliest of equals', () => {
    for (const graph of graphs()) {
      const cliques = cliquesOf(graph)
      const size = Math.max(0, ...cliques.map(({ length }) => length))
      const masks = cliques.filter(({ length }) => length === size).map(maskOf)
      for (const terms of quotas) {
        const { quorum, maxAnswers, needed } = terms
        const count = graph.length
        if (count > maxAnswers) continue
        const found = decide(answersOf(count), matchIn(graph), terms)
        if (count < quorum) {
          expect(found).toEqual({ outcome: 'more', count: quorum - count })
        } else if (size >= needed) {
          const mask = Math.min(...masks)
          const group = answersOf(count).filter(({ id }) => (mask >> id) & 1)
          expect(found).toEqual({ outcome: 'accepted', mask, group })
        } else if (count + needed - size > maxAnswers) {
          expect(found).toEqual({ outcome: 'disputed' })
        } else {
          expect(found).toEqual({ outcome: 'more', count: needed - size })
        }
      }
    }
  })

  it('decide alike in whatever order they come', () => {
    const dice = createDice(3)
    const terms = quota({ rule: 'three', quorum: 3, listLength: 9 })
    for (const graph of graphs()) {
      const answers = answersOf(graph.length)
      const shuffled = answers
        .map((answer) => ({ answer, at: dice.next() }))
        .toSorted((a, b) => a.at - b.at)
        .map(({ answer }) => answer)
      const isMatch = matchIn(graph)
      expect(decide(shuffled, isMatch, terms)).toEqual(decide(answers, isMatch, terms))
    }
  })

  it('of an earlier batch come before those of a lower position', () => {
    const terms = quota({ rule: 'any-two', quorum: 3, listLength: 5 })
    // Positions 4, 2 and 3 were the quorum, 0 and 1 returned later; the pairs 4-3 and 0-1 match.
    const answers = [
      ...[2, 3, 4].map((position) => ({ batch: 0, position })),
      { batch: 1, position: 0 },
      { batch: 1, position: 1 },
    ]
    const pairs = new Set(['4 3', '3 4', '0 1', '1 0'])
    const isMatch = (a: Placed, b: Placed) => pairs.has(`${a.position} ${b.position}`)
    const found = decide(answers, isMatch, terms)
    expect(found).toMatchObject({ outcome: 'accepted', mask: 0b110 })
    expect(found.outcome === 'accepted' && found.group.map(({ position }) => position)).toEqual([
      3, 4,
    ])
  })

  it('are never fewer than the quorum when they are accepted', () => {
    for (const terms of quotas) {
      for (let count = 0; count < terms.quorum; count++) {
        const found = decide(answersOf(count), () => true, terms)
        expect(found).toEqual({ outcome: 'more', count: terms.quorum - count })
        // Not even when nobody is left: the job waits for its nodes, and expires.
        expect(decide(answersOf(count), () => true, terms, 0)).toEqual(found)
      }
    }
  })

  it('of a pool of three are accepted when two match', () => {
    for (const rule of rules) {
      const terms = quota({ rule, quorum: 3, listLength: 3 })
      expect(decide(answersOf(3), matchIn(graphOf(3, 0b100)), terms, 0)).toMatchObject({
        outcome: 'accepted',
        mask: 0b110,
      })
      expect(decide(answersOf(3), () => false, terms, 0)).toEqual({ outcome: 'disputed' })
    }
  })

  it('are disputed when the list has fewer nodes left than are missing', () => {
    const terms = quota({ rule: 'three', quorum: 3, listLength: 9 })
    const none = matchIn(graphOf(3, 0))
    expect(decide(answersOf(3), none, terms, 2)).toEqual({ outcome: 'more', count: 2 })
    expect(decide(answersOf(3), none, terms, 1)).toEqual({ outcome: 'disputed' })
  })

  it('are no more than the job may have', () => {
    const terms = quota({ rule: 'any-two', quorum: 3, listLength: 9 })
    expect(() => decide(answersOf(6), () => true, terms)).toThrow(RangeError)
  })

  it('never leave a choice between two groups that have no answer in common', () => {
    for (const graph of graphs()) {
      for (const terms of quotas) {
        let count = terms.quorum
        while (count <= graph.length) {
          const found = decide(answersOf(count), matchIn(graph), terms)
          if (found.outcome === 'more') {
            count += found.count
            continue
          }
          const sub = graph.slice(0, count).map((row) => row.slice(0, count))
          const reaching = cliquesOf(sub).filter(({ length }) => length >= terms.needed)
          for (const one of reaching) {
            for (const other of reaching) {
              expect(one.some((member) => other.includes(member))).toBe(true)
            }
          }
          break
        }
      }
    }
  })
})
