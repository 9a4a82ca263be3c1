import { expect, it } from 'vitest'
import { createSpeeds } from '../../../node/inference/speed.ts'
import { modelId } from '../fakes.ts'

it('a speed is unknown until an answer of some length came, and then that of each model', () => {
  const speeds = createSpeeds()
  speeds.answered(modelId, 0, 1_000)
  speeds.answered(modelId, 31, 60_000)
  expect(speeds.of(modelId)).toBeUndefined()
  speeds.answered(modelId, 100, 2_010)
  expect([speeds.of(modelId), speeds.of('openai:other')]).toEqual([21, undefined])
})

it('a slow answer counts for half of the speed and a fast one for an eighth, within what a claim may name', () => {
  const speeds = createSpeeds()
  const after = (tokens: number, ms: number) => {
    speeds.answered(modelId, tokens, ms)
    return speeds.of(modelId)
  }
  expect([after(100, 1_000), after(100, 3_000), after(100, 400)]).toEqual([10, 20, 18])
  expect(after(1_000_000, 1)).toBe(16)
  for (let more = 0; more < 100; more++) after(1_000_000, 1)
  expect([speeds.of(modelId), after(32, 1e9)]).toEqual([1, 10_000])
})

it('a provider that was silent for a lease counts as half as fast, and never as faster', () => {
  const speeds = createSpeeds()
  speeds.tooSlow(modelId, 1_000, 180_000)
  expect(speeds.of(modelId)).toBe(360)
  speeds.tooSlow(modelId, 8_000, 1_000)
  expect(speeds.of(modelId)).toBe(360)
})
