import { describe, expect, it } from 'vitest'
import { TeacherScore } from '../../lib/schemas/teacher.ts'
import {
  attestedOf,
  contradictionIn,
  distanceOf,
  placesOf,
  scoreOf,
  type TokenTold,
  worstQuarter,
} from '../../lib/teacher.ts'
import { aHash, aJobId, anAddress } from '../branded.ts'

const answer = aHash(`0x${'ab'.repeat(32)}`)
const key = new Uint8Array(32).fill(7)

/** What is told of a token that is as much less likely than the likeliest, in nats. */
const told = (short: number, shift = 0): TokenTold => ({
  logprob: -0.2 - short,
  top: [0.2, 1.9, 3.1, 4, 5.5].map((nats, at) => ({
    token: `t${at}`,
    logprob: -nats - shift * at,
  })),
})
const text = (shorts: readonly number[], shift = 0) => shorts.map((short) => told(short, shift))
const score = (shorts: readonly number[], shift = 0) => scoreOf(text(shorts, shift), answer, key)

describe('the numbers of a text', () => {
  it('count tokens, clip what they lack, and show where they lack it', async () => {
    const found = await score([0, 0.5, 0, 3, 0, 9, 0, 0])
    expect(found).toMatchObject({ n: 8, agree: 5, gap: 500 + 2_000 + 2_000, far: 1 })
    expect(found.trimmed).toBe(500 + 2_000)
    expect(found.quarters).toEqual([500, 2_000, 2_000, 0])
    expect(worstQuarter(found)).toBe(1_000)
    expect(TeacherScore.parse(found)).toEqual(found)
    expect(contradictionIn(found, answer, 8)).toBeUndefined()
  })

  it('are those of texts of any length, the shortest too', async () => {
    for (let n = 1; n < 40; n++) {
      const found = await score(Array.from({ length: n }, (_, at) => (at % 3) * 2.5))
      expect(contradictionIn(found, answer, n)).toBeUndefined()
    }
    await expect(score([])).rejects.toThrow(RangeError)
  })

  it('name no token without the key', async () => {
    const [one, other] = await Promise.all([
      score([0, 1]),
      scoreOf(text([0, 1]), answer, new Uint8Array(32).fill(8)),
    ])
    expect(one.top[0]?.map(([name]) => name)).not.toEqual(other.top[0]?.map(([name]) => name))
    expect(one.top[0]?.map(([, nats]) => nats)).toEqual(other.top[0]?.map(([, nats]) => nats))
    expect(one.transcript).not.toBe(other.transcript)
  })

  it('are refused where they contradict one another', async () => {
    const good = await score([0, 0.5, 0, 3, 0, 9, 0, 0])
    const wrong = (change: Partial<TeacherScore>, limit = 8) =>
      contradictionIn({ ...good, ...change }, answer, limit)
    expect(wrong({}, 7)).toMatch(/more tokens than the answer/)
    expect(wrong({ agree: 8 })).toMatch(/more tokens counted/)
    expect(wrong({ far: 3 })).toMatch(/gap/)
    expect(wrong({ agree: 7, far: 1 })).toMatch(/gap/)
    expect(wrong({ trimmed: 4_501 })).toMatch(/a trimmed gap/)
    expect(wrong({ trimmed: 2_499 })).toMatch(/a trimmed gap/)
    expect(wrong({ gap: 4_499 })).toMatch(/add up/)
    expect(wrong({ quarters: [4_500, 0, 0, 0] })).toMatch(/a quarter/)
    expect(wrong({ top: good.top.slice(1) })).toMatch(/places/)
    expect(wrong({ top: good.top.map((row) => row.toReversed()) })).toMatch(/out of order/)
  })
})

it('the places follow from the answer, lie in the text and rise', () => {
  for (const n of [1, 5, 100, 8_192]) {
    const places = placesOf(answer, n)
    expect(places).toEqual([...new Set(places)].toSorted((a, b) => a - b))
    expect(places.every((place) => place >= 0 && place < n)).toBe(true)
  }
  expect(placesOf(answer, 8_192)).not.toEqual(placesOf(aHash(`0x${'ac'.repeat(32)}`), 8_192))
})

describe('likeliest tokens', () => {
  const node = (digit: number) => anAddress(`0x${String(digit).repeat(40)}`)
  const shorts = Array.from({ length: 60 }, (_, at) => (at % 7 === 0 ? 0.3 : 0))
  const apartOf = (...scores: readonly TeacherScore[]) => {
    const numbers = scores.map((score, at) => ({
      statement: 'svc-numbers-v1' as const,
      ...{ jobId: aJobId(`0x${'1'.repeat(64)}`), address: node(at + 1), fence: at + 1 },
      ...{ weighed: [{ answer, score }], salt: '' },
    }))
    return attestedOf(answer, numbers).map(({ apart }) => apart)
  }

  it('of a node without a model are far from those of all others', async () => {
    const [first, second] = [await score(shorts), await score(shorts, 0.02)]
    const made = first.top.map((row) => row.map(([, nats], at): [number, number] => [at, nats]))
    const [one, two, three] = apartOf(first, second, { ...first, top: made })
    expect(one).toBe(two)
    expect(one).toBeLessThan(100)
    expect(three).toBeGreaterThan(1_000)
  })

  it('are not compared where texts are split otherwise, or one node alone shows them', async () => {
    const [one, other] = [await score(shorts), await score(shorts.slice(1))]
    expect(distanceOf(one, other)).toBeUndefined()
    expect(apartOf(one)).toEqual([undefined])
  })

  it('are as far apart as can be where one node shows fewer tokens, or one token often', async () => {
    const one = await score(shorts)
    const own = one.top.map((row) => row.slice(0, 1))
    expect(distanceOf(one, { ...one, top: own })).toBe(2_000)
    const repeated = own.map(([first]) => Array.from({ length: 5 }, () => first!))
    expect(distanceOf(one, { ...one, top: repeated })).toBe(2_000)
  })

  it('do not count a token as far that the other node only did not show', async () => {
    const one = await score(shorts)
    const swapped = one.top.map((row): [number, number][] => [...row.slice(0, 4), [1, 5_500]])
    expect(distanceOf(one, { ...one, top: swapped })).toBe(0)
  })
})
