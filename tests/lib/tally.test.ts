import { describe, expect, it } from 'vitest'
import { accepts, countVotes, rejects, type Vote } from '../../lib/tally.ts'

const yes: Vote = { verdict: 'match' }
const no: Vote = { verdict: 'no-match', reason: 'different-answer' }
const unclear: Vote = { verdict: 'no-match', reason: 'inconclusive' }
const votes = (matches: number, noMatches: number, inconclusive = 0): readonly Vote[] => [
  ...Array.from({ length: matches }, () => yes),
  ...Array.from({ length: noMatches }, () => no),
  ...Array.from({ length: inconclusive }, () => unclear),
]

describe('votes', () => {
  it('are counted by what they say, the inconclusive ones for and against nobody', () => {
    expect(countVotes([yes, no, unclear, unclear, no, yes, no])).toEqual({
      matches: 2,
      noMatches: 3,
      inconclusive: 2,
    })
    expect(countVotes([])).toEqual({ matches: 0, noMatches: 0, inconclusive: 0 })
  })

  it('are against when they have another reason than that nothing can be said', () => {
    const reasons = ['different-answer', 'output-mismatch', 'output-unavailable'] as const
    for (const reason of reasons) {
      expect(countVotes([{ verdict: 'no-match', reason }]).noMatches).toBe(1)
    }
  })
})

describe('votes accept', () => {
  it('when at least two and more than half match', () => {
    const taken = [votes(2, 0), votes(2, 1), votes(3, 2), votes(5, 0), votes(2, 0, 1)]
    for (const some of taken) expect(accepts('exact', some, 1)).toBe(true)
  })

  it('not when no more than half match', () => {
    const left = [votes(2, 2), votes(2, 3), votes(2, 1, 1), votes(2, 0, 2), votes(1, 1)]
    for (const some of left) expect(accepts('exact', some, 1)).toBe(false)
    for (const some of [votes(2, 2), votes(1, 1), votes(2, 1, 1)]) {
      expect(accepts('similar/2', some, 1)).toBe(false)
    }
  })

  it('by one match alone only where a comparison can be inconclusive, and nobody is against', () => {
    expect(accepts('similar/2', votes(1, 0, 1), 1)).toBe(true)
    expect(accepts('similar/2', votes(1, 0, 4), 1)).toBe(true)
    expect(accepts('similar/2', votes(1, 1, 1), 1)).toBe(false)
    expect(accepts('similar/2', votes(0, 0, 2), 0)).toBe(false)
    expect(accepts('exact', votes(1, 0), 1)).toBe(false)
    expect(accepts('exact', votes(1, 0, 1), 1)).toBe(false)
  })

  it('only with as many matches as the client asked for', () => {
    expect(accepts('exact', votes(2, 0), 2)).toBe(true)
    expect(accepts('exact', votes(2, 0), 3)).toBe(false)
    expect(accepts('similar/2', votes(1, 0, 2), 2)).toBe(false)
  })
})

describe('votes reject', () => {
  it('when at least two and more than half are against and agree among themselves', () => {
    const taken = [votes(0, 2), votes(1, 2), votes(2, 3), votes(0, 2, 1)]
    for (const some of taken) {
      expect(rejects(some, true)).toBe(true)
      expect(rejects(some, false)).toBe(false)
    }
  })

  it('not when no more than half are against, or only one is, or they only could not tell', () => {
    const left = [votes(2, 2), votes(0, 1), votes(1, 1), votes(0, 2, 2), votes(0, 0, 3), []]
    for (const some of left) expect(rejects(some, true)).toBe(false)
  })
})
