import { describe, expect, it } from 'vitest'
import { countWords } from '../../bench/comparators/made-answer.ts'
import { drawBase, lengths, madeCases } from '../../bench/comparators/made-cases.ts'
import { createDice } from '../../simulation/dice.ts'

const numbers = Array.from({ length: 40 }, (_, number) => number)
const wordsOf = (text: string) => text.split(/\s+/)

/** The leader's answer of a case beside the verifier's, for every answer that the case can be made of. */
function claimsOf(name: string, words: number) {
  const made = madeCases.find((one) => one.name === name)!
  return numbers.flatMap((number) => {
    const base = drawBase(createDice(number), words)
    const claimed = made.claim(base, createDice(number + 1_000))
    return claimed === undefined ? [] : [{ own: base.text, claimed, base }]
  })
}

/** Words that stand at the same place and differ. */
const differing = (a: string, b: string) => {
  const other = wordsOf(b)
  return wordsOf(a).flatMap((word, at) => (word === other[at] ? [] : [[word, other[at]]]))
}

describe('the corpus that is made from a seed', () => {
  it('is the same for the same seed and another for another', () => {
    const [first, again, other] = [7, 7, 8].map((seed) => drawBase(createDice(seed), 256).text)
    expect(first).toBe(again)
    expect(first).not.toBe(other)
  })

  it('has answers of the lengths asked for', () => {
    for (const words of lengths) {
      const found = numbers.map((number) => countWords(drawBase(createDice(number), words).text))
      const mean = found.reduce((sum, count) => sum + count, 0) / found.length
      expect(Math.abs(mean - words)).toBeLessThan(3)
      expect(Math.max(...found.map((count) => Math.abs(count - words)))).toBeLessThanOrEqual(20)
    }
  })

  it('hardly ever says the same in two answers', () => {
    const trigrams = (text: string) => {
      const words = wordsOf(text.toLowerCase())
      return new Set(words.slice(2).map((word, at) => `${words[at]} ${words[at + 1]} ${word}`))
    }
    const [first, second] = [1, 2].map((seed) => trigrams(drawBase(createDice(seed), 256).text))
    const common = [...first!].filter((trigram) => second!.has(trigram)).length
    expect(common / first!.size).toBeLessThan(0.1)
  })

  it('changes nothing but mark-up where only the formatting changes', () => {
    const bare = (text: string) =>
      text
        .replace(/[^\p{L}\p{N}]+/gu, ' ')
        .replace(/(?<=\d) (?=\d{3}\b)/g, '')
        .trim()
    for (const { own, claimed } of claimsOf('formatting only', 256)) {
      const words = bare(claimed.replace(/^(?:1\. )/gm, '')).replace(/^### /, '')
      expect(words).toBe(bare(own))
      expect(claimed).not.toBe(own)
    }
  })

  it('changes one number where one number is to change', () => {
    const claims = claimsOf('one number changed', 60)
    expect(claims.length).toBeGreaterThan(20)
    for (const { own, claimed } of claims) {
      const differences = differing(own, claimed)
      expect(differences).toHaveLength(1)
      expect(differences[0]!.every((word) => /\d/.test(word ?? ''))).toBe(true)
    }
  })

  it('changes one name where one name is to change', () => {
    const claims = claimsOf('one name changed', 256)
    expect(claims.length).toBeGreaterThan(20)
    for (const { own, claimed } of claims) {
      const differences = differing(own, claimed)
      expect(differences.length).toBeGreaterThanOrEqual(1)
      expect(new Set(differences.map(([before]) => before?.replace(/\W/g, ''))).size).toBe(1)
      expect(differences.flat().every((word) => /^[A-Z]/.test(word ?? ''))).toBe(true)
    }
  })

  it('turns one sentence into its opposite where a negation is to change', () => {
    const negators = (text: string) => text.match(/\b(?:not|never)\b/gi)?.length ?? 0
    const claims = claimsOf('one negation changed', 256)
    expect(claims.length).toBeGreaterThan(20)
    for (const { own, claimed } of claims) {
      expect(Math.abs(negators(own) - negators(claimed))).toBe(1)
      expect(Math.abs(countWords(own) - countWords(claimed))).toBe(1)
    }
  })

  it('begins with the same words where answers diverge, and goes on in others', () => {
    const shared = claimsOf('diverges, then all in other words', 256).map(({ own, claimed }) => {
      const other = wordsOf(claimed)
      return wordsOf(own).findIndex((word, at) => word !== other[at])
    })
    const early = shared.filter((words) => words >= 0 && words < 128).length
    // From a random point on: neither always at the start nor always at the end.
    expect(early).toBeGreaterThan(8)
    expect(early).toBeLessThan(32)
  })

  it('cuts, fills up and repeats to the lengths that it says', () => {
    for (const { own, claimed } of claimsOf('truncated to half', 256)) {
      expect(own.startsWith(claimed)).toBe(true)
      expect(Math.abs(countWords(claimed) * 2 - countWords(own))).toBeLessThan(countWords(own) / 10)
    }
    for (const name of ['filler', 'copied prompt']) {
      for (const { own, claimed } of claimsOf(name, 60)) {
        expect(countWords(claimed)).toBeGreaterThanOrEqual(countWords(own))
        expect(claimed).not.toContain(own.slice(0, 20))
      }
    }
  })
})
