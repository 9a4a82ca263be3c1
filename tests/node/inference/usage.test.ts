import { expect, it } from 'vitest'
import { modelUsageOf, modelUsageText } from '../../../node/commands/model-usage.ts'
import { parseConfig } from '../../../node/config.ts'
import { usageText } from '../../../node/inference/usage.ts'
import type { JobRecord } from '../../../node/journal/history.ts'
import { aJobId } from '../../branded.ts'

const job = (digit: number, change: Partial<JobRecord>): JobRecord => ({
  jobId: aJobId(`0x${String(digit).repeat(64)}`),
  role: 'verifier',
  model_id: 'openai:x',
  fence: 1,
  started_at: digit * 100,
  outcome: 'match',
  ...change,
})

it('tells tokens, and their cost in plain digits when there is a price', () => {
  const usage = { input_tokens: 7, output_tokens: 1 }
  expect(usageText(usage, undefined)).toBe('7 + 1 tokens')
  expect(usageText(usage, { input: 0.15, output: 0.6 })).toBe('7 + 1 tokens, cost 0.000002')
  expect(usageText(usage, { input: 0, output: 0 })).toBe('7 + 1 tokens, cost 0')
  expect(usageText({ input_tokens: 4e6, output_tokens: 0 }, { input: 5, output: 0 })).toBe(
    '4000000 + 0 tokens, cost 20',
  )
})

it('adds up the jobs of each model that were counted', () => {
  const usage = { input_tokens: 1_000, output_tokens: 500 }
  const prices = { 'openai:x': { input: 1, output: 2 } }
  const found = modelUsageOf(
    [job(1, {}), job(2, { usage }), job(3, { usage }), job(4, { model_id: 'ollama:y', usage })],
    prices,
  )
  const both = { input_tokens: 2_000, output_tokens: 1_000, cost: 0.004 }
  expect(found).toEqual([
    { model_id: 'openai:x', jobs: 2, ...both, since: 200 },
    { model_id: 'ollama:y', jobs: 1, ...usage, cost: null, since: 400 },
  ])
  expect(modelUsageText(found[0]!, prices)).toBe(
    'openai:x: 2 jobs, 2000 + 1000 tokens, cost 0.004, since 1970-01-01 00:03:20 UTC',
  )
})

it('takes prices by model id, and says what they look like', () => {
  const file = {
    attestation_backend: 'mock',
    icl_endpoint: 'https://icl.example',
    cofhe_endpoint: 'https://rpc.example',
    supported_model_ids: ['openai:x'],
  }
  const prices = { 'openai:x': { input: 0.15, output: 0.6 } }
  expect(parseConfig({ ...file, prices }, {}, 'c.json').prices).toEqual(prices)
  for (const wrong of [
    7,
    { 'openai:x': 1 },
    { 'openai:x': { input: -1, output: 1 } },
    { x: { input: 1, output: 1 } },
  ]) {
    expect(() => parseConfig({ ...file, prices: wrong }, {}, 'c.json')).toThrow(
      /prices.*must map model ids to the cost of a million tokens/,
    )
  }
})
