import { expect, it } from 'vitest'
import { likelihoodOf } from '../../lib/likelihood-rule.ts'
import { scoreOf } from '../../lib/teacher.ts'
import { aHash } from '../branded.ts'

const answer = aHash(`0x${'ab'.repeat(32)}`)

/** The score of `n` tokens, each of which lacks so many thousandths of a nat; the first `reread` of them were generated as other tokens. */
const score = (n: number, short: number, reread = 0) =>
  scoreOf(
    Array.from({ length: n }, (_, at) => ({
      logprob: -0.2 - (at < reread ? 6 : short / 1_000),
      top: [{ token: 'the', logprob: -0.2 }],
    })),
    answer,
    new Uint8Array(32),
  )

it('a text is likely or unlikely where two scores say the same', async () => {
  for (const n of [25, 64, 500]) {
    const [honest, false_] = [await score(n, 1), await score(n, 40)]
    expect(likelihoodOf([honest, honest])).toBe('likely')
    expect(likelihoodOf([false_, false_])).toBe('unlikely')
  }
})

it('scores that differ, a single one, and none decide nothing', async () => {
  const [honest, false_] = [await score(64, 4), await score(64, 300)]
  expect(likelihoodOf([honest, false_])).toBeUndefined()
  expect(likelihoodOf([false_])).toBeUndefined()
  expect(likelihoodOf([])).toBeUndefined()
})

it('a short text decides nothing', async () => {
  const [honest, false_] = [await score(24, 0), await score(24, 300)]
  expect(likelihoodOf([honest, honest])).toBeUndefined()
  expect(likelihoodOf([false_, false_])).toBeUndefined()
})

it('a token that is read otherwise than it was generated leaves a text likely', async () => {
  const reread = await score(32, 4, 1)
  expect(reread.gap).toBeGreaterThan(32 * 60)
  expect(likelihoodOf([reread, reread])).toBe('likely')
})
