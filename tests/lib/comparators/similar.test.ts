import { describe, expect, it } from 'vitest'
import { similar } from '../../../lib/comparators/similar.ts'
import { fromBase64Url, sha256Hex } from '../../../lib/digest.ts'
import { Evidence } from '../../../lib/schemas/evidence.ts'
import { evidenceKeyOf } from '../../../lib/sealing/job-secret.ts'
import { aJobId } from '../../branded.ts'
import { breadAnswer, inputOf, keyOf, liftAnswer } from './texts.ts'

const evidenceOf = (...input: Parameters<typeof inputOf>) => similar.evidenceOf(inputOf(...input))

const sharedOf = async (...[a, b]: readonly Parameters<typeof inputOf>[]) => {
  const [one, other] = [await evidenceOf(...(a ?? [''])), await evidenceOf(...(b ?? ['']))]
  return similar.explain(one, other).similarities ?? {}
}

describe('evidence of similar/2', () => {
  it('is the same on every runtime', async () => {
    const { sketch = '', ...rest } = await evidenceOf(liftAnswer)
    expect(rest).toEqual({
      comparator: 'similar/2',
      digest: '0HdJuykV7IA15lkiBCkgQm1fIQiM3EmS7Z1LTailCII',
      tokens: 80,
      units: 103,
    })
    expect(await sha256Hex(fromBase64Url(sketch))).toBe(
      '0x02649ea6e7c0f4bd511646a75ca8e9016e5f4a6bcb6577880fcf2ba41a3ce3f9',
    )
  })

  it('has 676 bytes of sketch, whatever the text', async () => {
    for (const text of ['', 'B', liftAnswer, '水で動く'.repeat(50), `${liftAnswer} `.repeat(200)]) {
      const evidence = await evidenceOf(text)
      expect(Evidence.parse(evidence)).toEqual(evidence)
      expect(fromBase64Url(evidence.sketch ?? '')).toHaveLength(676)
      expect(similar.malformation(evidence)).toBeUndefined()
    }
  })

  it('counts tokens as it compares them', async () => {
    expect((await evidenceOf('')).tokens).toBe(0)
    expect((await evidenceOf('**Two** words')).tokens).toBe(2)
    expect((await evidenceOf('水で動く')).tokens).toBe(4)
  })

  it('has nothing in common with that of another key or another job', async () => {
    const jobs = await Promise.all(
      ['1', '2'].map((digit) => evidenceKeyOf(keyOf(9), aJobId(`0x${digit.repeat(64)}`))),
    )
    const [one = keyOf(), other = keyOf()] = jobs
    for (const [key, another] of [
      [keyOf(1), keyOf(2)],
      [one, other],
    ] as const) {
      const { length, ...shared } = await sharedOf(
        [liftAnswer, { key }],
        [liftAnswer, { key: another }],
      )
      expect(length).toBe(1_000)
      for (const value of Object.values(shared)) expect(value).toBeLessThan(200)
    }
  })

  it('gives no credit for what stands in the prompt', async () => {
    const prompt = `Please correct this text: ${liftAnswer}`
    const copied = await sharedOf([liftAnswer], [prompt])
    const creditless = await sharedOf([liftAnswer, { prompt }], [prompt, { prompt }])
    expect(copied.trigrams).toBeGreaterThan(800)
    expect(creditless.trigrams).toBeLessThan(200)
  })

  it('estimates how much two texts share', async () => {
    const word = (index: number) => `w${index.toString(36)}q`
    const words = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => word(from + index))
    for (const [common, own] of [
      [80, 20],
      [50, 50],
      [10, 90],
    ] as const) {
      const estimates = await Promise.all(
        Array.from({ length: 40 }, async (_, seed) => {
          const text = (from: number) => [...words(from, own), ...words(0, common)].join(' ')
          const key = keyOf(seed)
          return (await sharedOf([text(1_000), { key }], [text(2_000), { key }])).words as number
        }),
      )
      const mean = estimates.reduce((sum, value) => sum + value, 0) / estimates.length
      expect(Math.abs(mean - (1_000 * common) / (common + 2 * own))).toBeLessThan(20)
    }
  })

  it('does not say that two texts are equal when their tags and text differ', async () => {
    const one = await evidenceOf(liftAnswer)
    const set = await evidenceOf(`# ${liftAnswer}`)
    expect(set.digest).not.toBe(one.digest)
    expect(similar.reproduces(set, one)).toBe(false)
    expect(similar.reproduces(await evidenceOf(`${liftAnswer} \r\n`), one)).toBe(true)
    expect(similar.reproduces(await evidenceOf(breadAnswer), one)).toBe(false)
  })

  it('hides the text from readers without the key', async () => {
    const counts = new Uint32Array(16)
    for (let seed = 0; seed < 30; seed++) {
      const { sketch = '' } = await evidenceOf('Yes', { key: keyOf(seed) })
      for (const byte of fromBase64Url(sketch).subarray(4)) {
        for (const half of [byte & 15, byte >>> 4]) counts[half] = (counts[half] ?? 0) + 1
      }
    }
    const expected = (30 * 672 * 2) / 16
    const chiSquare = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
    // 15 degrees of freedom; the keys are fixed, so that this either holds or not.
    expect(chiSquare).toBeLessThan(37)
  })
})
