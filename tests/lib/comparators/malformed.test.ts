import { describe, expect, it } from 'vitest'
import { comparators } from '../../../lib/comparators/all.ts'
import { fromBase64Url, toBase64Url } from '../../../lib/digest.ts'
import type { Evidence } from '../../../lib/schemas/evidence.ts'
import { inputOf, keyOf, liftAnswer } from './texts.ts'

const withBytes = (evidence: Evidence, change: (sketch: Uint8Array) => Uint8Array): Evidence => ({
  ...evidence,
  sketch: toBase64Url(change(fromBase64Url(evidence.sketch ?? ''))),
})

const filled = (evidence: Evidence, value: (index: number) => number, from = 4): Evidence =>
  withBytes(evidence, (sketch) => sketch.map((byte, at) => (at < from ? byte : value(at - from))))

const withoutSketch = ({ sketch: _, ...rest }: Evidence): Evidence => rest

const malformed = (good: Evidence): readonly (readonly [string, Evidence])[] => [
  ['no sketch', withoutSketch(good)],
  ['tokens without units', { ...good, units: 0 }],
  ['no base64url', { ...good, sketch: '!' }],
  ['an empty sketch', { ...good, sketch: '' }],
  ['a byte less', withBytes(good, (sketch) => sketch.subarray(1))],
  ['a byte more', withBytes(good, (sketch) => Uint8Array.of(...sketch, 1))],
  ['another form', withBytes(good, (sketch) => sketch.with(0, 9))],
  ['another version of the text', withBytes(good, (sketch) => sketch.with(1, 0))],
  ['unknown flags', withBytes(good, (sketch) => sketch.with(2, 0xff))],
  ['a spare byte that is used', withBytes(good, (sketch) => sketch.with(3, 1))],
  ['another length class', { ...good, tokens: 1 }],
  ['nothing but zeros', filled(good, () => 0)],
  ['nothing but ones', filled(good, () => 0xff)],
  ['constant channels', filled(good, () => 0x5a, 36)],
  [
    'a pattern',
    filled(good, (index) => [0x1b, 0xe4, 0x72, 0x8d, 0x36, 0xc9, 0x0f][index % 7] ?? 0, 36),
  ],
  ['a tag of zeros', withBytes(good, (sketch) => sketch.fill(0, 4, 20))],
  ['a channel that repeats one slot', withBytes(good, (sketch) => sketch.fill(0x33, 36, 292))],
]

const comparator = comparators['similar/2']

describe('malformed evidence of similar/2', () => {
  it('is told, and is no match with anything', async () => {
    const good = await comparator.evidenceOf(inputOf(liftAnswer))
    expect(comparator.malformation(good)).toBeUndefined()
    for (const [what, bad] of malformed(good)) {
      expect([what, comparator.malformation(bad)]).toEqual([what, expect.any(String)])
      expect([what, comparator.compare(good, bad)]).toEqual([what, 'no-match'])
      expect([what, comparator.compare(bad, good)]).toEqual([what, 'no-match'])
      expect([what, comparator.compare(bad, bad)]).toEqual([what, 'no-match'])
      expect([what, comparator.reproduces(good, bad)]).toEqual([what, false])
    }
  })

  it('is what another comparator made', async () => {
    const others = Object.values(comparators).filter((other) => other !== comparator)
    for (const other of others) {
      const evidence = await other.evidenceOf(inputOf(liftAnswer))
      expect(comparator.malformation(evidence)).toContain(other.id)
      expect(comparator.compare(evidence, evidence)).toBe('no-match')
    }
  })

  it('is never what an honest node makes', async () => {
    for (let seed = 0; seed < 60; seed++) {
      const text = liftAnswer.slice(0, seed * 8)
      const evidence = await comparator.evidenceOf(inputOf(text, { key: keyOf(seed) }))
      expect(comparator.malformation(evidence)).toBeUndefined()
    }
  })
})

it('malformed evidence of exact is a sketch, or what another comparator made', async () => {
  const { exact } = comparators
  const good = await exact.evidenceOf(inputOf(liftAnswer))
  for (const bad of [
    { ...good, sketch: 'AA' },
    { ...good, comparator: 'similar/2' as const },
  ]) {
    expect(exact.malformation(bad)).toBeDefined()
    expect(exact.compare(bad, bad)).toBe('no-match')
  }
})

it.each(Object.values(comparators).map((one) => [one.id, one] as const))(
  'counts of %s that one text cannot have do not match',
  async (_, { evidenceOf, compare, malformation }) => {
    const good = await evidenceOf(inputOf(liftAnswer))
    expect(good.units).toBe(Math.ceil(liftAnswer.length / 4))
    for (const counts of [{ tokens: good.tokens + 1 }, { units: good.units + 1 }]) {
      expect(compare(good, { ...good, ...counts })).toBe('no-match')
    }
    expect(malformation({ ...good, units: 0 })).toBe('it has tokens and no units')
  },
)
