import { describe, expect, it, vi } from 'vitest'
import type { Embed } from '../../../lib/comparators/comparator.ts'
import { defaultComparator, isSampled } from '../../../lib/comparators/default-for-model.ts'
import { embeddedPartOf } from '../../../lib/comparators/semantic/embedding-model.ts'
import { bitDistance, meaningBitsOf } from '../../../lib/comparators/semantic/meaning-bits.ts'
import { semantic } from '../../../lib/comparators/semantic.ts'
import { fromBase64Url, sha256Hex, toBase64Url } from '../../../lib/digest.ts'
import { Evidence } from '../../../lib/schemas/evidence.ts'
import { breadAnswer, inputOf, keyOf, liftAnswer } from './texts.ts'

const dimensions = 96

/** A vector at an angle, in a turn, to the one at 0. */
const at =
  (turn: number): Embed =>
  async () =>
    Array.from({ length: dimensions }, (_, index) => {
      const [along, across] = [Math.cos(2 * Math.PI * turn), Math.sin(2 * Math.PI * turn)]
      return ((index % 2 === 0 ? along : across) * (1 + (index >> 1))) / dimensions
    })

const evidenceOf = (text: string, embed?: Embed, prompt?: string) =>
  semantic.evidenceOf(inputOf(text, { embed, ...(prompt !== undefined && { prompt }) }))

// Says the same as the lift's answer, in other words.
const retold = [
  'Water makes the lift in the old harbour tower go: a tank under the roof holds it.',
  'Once the valve is opened by the keeper, the upper cabin takes on more and more until it is the heavier one,',
  'and they start travelling on 48 metres of rail made of steel.',
  'Should the rope be slack, both cabins are held by a brake which Hedwig Sommer designed.',
  'It needs no engine, yet all night long there is a pump at work that brings the water back up.',
].join(' ')

const between = async (a: string, b: string, turn: number) => {
  const [one, other] = [await evidenceOf(a, at(0)), await evidenceOf(b, at(turn))]
  expect(semantic.explain(other, one)).toEqual(semantic.explain(one, other))
  return semantic.explain(one, other)
}

describe('semantic/1', () => {
  it('adds 256 bytes of meaning to the sketch', async () => {
    const evidence = await evidenceOf(liftAnswer, at(0))
    expect(Evidence.parse(evidence)).toEqual(evidence)
    expect(fromBase64Url(evidence.sketch ?? '')).toHaveLength(932)
    expect(semantic.malformation(evidence)).toBeUndefined()
  })

  it('lets the meaning decide where the wording does not', async () => {
    expect(await between(liftAnswer, retold, 0.02)).toMatchObject({
      outcome: 'match',
      why: 'the same meaning in other words',
    })
    expect((await between(liftAnswer, retold, 0.13)).outcome).toBe('inconclusive')
    expect((await between(liftAnswer, retold, 0.25)).outcome).toBe('no-match')
  })

  it('says of unrelated wording that it is no match only when the meaning is unrelated too', async () => {
    expect((await between(liftAnswer, breadAnswer, 0.25)).outcome).toBe('no-match')
    expect((await between(liftAnswer, breadAnswer, 0.13)).outcome).toBe('inconclusive')
    expect((await between(liftAnswer, breadAnswer, 0)).outcome).toBe('inconclusive')
  })

  it('lets no meaning make up for another fact, answer or length', async () => {
    for (const other of [
      liftAnswer.replace('48', '84'),
      liftAnswer.replace('not need', 'need'),
      retold.slice(0, 180),
      `${retold} See https://lift.example now.`,
    ]) {
      expect((await between(liftAnswer, other, 0)).outcome).toBe('inconclusive')
    }
    expect((await between('Paris', 'Lyon', 0)).outcome).toBe('inconclusive')
    expect((await between('Paris', 'Paris.', 0.25)).outcome).toBe('match')
    const [b, c] = [`${liftAnswer} The answer is B.`, `${retold} The answer is C.`]
    expect((await between(b, c, 0)).outcome).toBe('inconclusive')
  })

  it('does not take the prompt for an answer, although it means the same', async () => {
    const prompt = `Say this better: ${liftAnswer}`
    const copied = await evidenceOf(prompt, at(0), prompt)
    const answered = await evidenceOf(retold, at(0), prompt)
    expect(semantic.compare(copied, answered)).not.toBe('match')
  })

  it('is reproduced by the same text and nearly the same embedding', async () => {
    const claimed = await evidenceOf(liftAnswer, at(0))
    for (const [turn, expected] of [
      [0, true],
      [0.004, true],
      [0.1, false],
    ] as const) {
      const shown = await evidenceOf(liftAnswer, at(turn))
      expect(semantic.reproduces(shown, claimed)).toBe(expected)
    }
    expect(semantic.reproduces(await evidenceOf(retold, at(0)), claimed)).toBe(false)
  })

  it('is checked without an embedding model by the text alone, but not voted with', async () => {
    const claimed = await evidenceOf(liftAnswer, at(0))
    const shown = await evidenceOf(liftAnswer)
    expect(semantic.reproduces(shown, claimed)).toBe(true)
    expect(semantic.reproduces(await evidenceOf(retold), claimed)).toBe(false)
    expect(semantic.malformation(shown)).toContain('676')
    expect(semantic.reproduces(shown, shown)).toBe(false)
  })

  it('refuses embeddings of hardly any entropy', async () => {
    const good = fromBase64Url((await evidenceOf(liftAnswer, at(0))).sketch ?? '')
    const evidence = await evidenceOf(liftAnswer, at(0))
    for (const bits of [0, 0xff, 0x55]) {
      const sketch = toBase64Url(good.slice().fill(bits, 676))
      expect(semantic.malformation({ ...evidence, sketch })).toContain('entropy')
    }
  })

  it('embeds no empty text, and as much of a long one as the model takes', async () => {
    const embed = vi.fn(at(0))
    expect(semantic.malformation(await evidenceOf(' \n', embed))).toBeUndefined()
    expect(embed).not.toHaveBeenCalled()
    await evidenceOf('水'.repeat(10_000), embed)
    expect(embed.mock.calls[0]?.[0]).toBe('水'.repeat(2_666))
    expect(embeddedPartOf('a'.repeat(9_000))).toHaveLength(8_000)
  })

  it('passes on what the embedding model fails with, and the signal', async () => {
    const ended = new AbortController()
    const embed = vi.fn<Embed>(async () => {
      throw new Error('no')
    })
    const input = inputOf(liftAnswer, { embed, signal: ended.signal })
    await expect(semantic.evidenceOf(input)).rejects.toThrow('no')
    expect(embed.mock.calls[0]?.[1]).toBe(ended.signal)
  })
})

describe('the signs of random projections', () => {
  it('differ in the share that the angle is of a half turn', async () => {
    const bits = (turn: number) => at(turn)('', new AbortController().signal)
    const base = await meaningBitsOf(await bits(0), keyOf())
    for (const [turn, expected] of [
      [0, 0],
      [0.125, 512],
      [0.25, 1_024],
      [0.5, 2_048],
    ] as const) {
      const distance = bitDistance(base, await meaningBitsOf(await bits(turn), keyOf()))
      expect(Math.abs(distance - expected)).toBeLessThan(100)
    }
    const otherKey = bitDistance(base, await meaningBitsOf(await bits(0), keyOf(2)))
    expect(Math.abs(otherKey - 1_024)).toBeLessThan(160)
  })

  it('are the same on every runtime, and for any length of the vector', async () => {
    const vector = [0.5, -0.25, 0.125, 1, -0.75]
    const bits = await meaningBitsOf(vector, keyOf())
    expect(await sha256Hex(bits)).toBe(
      '0xb5c08095588b019cd9faba2a6794edd055560a14af70b9c64ee0f1d4b1ae8fcb',
    )
    expect(
      await meaningBitsOf(
        vector.map((value) => value * 8),
        keyOf(),
      ),
    ).toEqual(bits)
  })

  it.each([
    ['nothing', []],
    ['zeros', [0, 0]],
    ['what is no number', [Number.NaN, 1]],
    ['what is too large', [1e9, 1]],
    ['too much', Array.from({ length: 5_000 }, () => 1)],
  ])('refuses %s', async (_, vector) => {
    await expect(meaningBitsOf(vector, keyOf())).rejects.toMatchObject({
      code: 'embedding-refused',
    })
  })
})

describe('the comparator of a job that names none', () => {
  it('needs no third party, whatever the model', () => {
    for (const model of [
      'openai:gpt-4.1-mini',
      'openai:o3',
      'anthropic:claude-x',
      'ollama:llama3:8b',
    ]) {
      expect(defaultComparator({}, model)).toBe('similar/1')
      expect(defaultComparator({ default_comparator: 'exact' }, model)).toBe('exact')
    }
  })

  it('is known to say little where a model only samples', () => {
    expect(['anthropic:claude-x', 'openai:o4-mini', 'openai:gpt-5-nano'].map(isSampled)).toEqual([
      true,
      true,
      true,
    ])
    expect(['openai:gpt-4.1-mini', 'openai:other'].map(isSampled)).toEqual([false, false])
  })
})
