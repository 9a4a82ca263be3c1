import { z } from 'zod'
import { ModelId } from '../../lib/codecs.ts'
import type { Usage } from './provider.ts'

const mistake =
  'must map model ids to the cost of a million tokens, such as {"openai:gpt-4o-mini": {"input": 0.15, "output": 0.6}}'
const PerMillion = z.number(mistake).min(0, mistake).max(1e6, mistake)
const Price = z.strictObject({ input: PerMillion, output: PerMillion }, mistake)
type Price = z.output<typeof Price>

/** The price of a million tokens of each model, in any currency. */
export const Prices = z.record(ModelId, Price, mistake)

export const noUsage: Usage = { input_tokens: 0, output_tokens: 0 }

/** Returns the sum of usages. */
export const sumOf = (all: readonly Usage[]): Usage => ({
  input_tokens: all.reduce((sum, { input_tokens }) => sum + input_tokens, 0),
  output_tokens: all.reduce((sum, { output_tokens }) => sum + output_tokens, 0),
})

/** Returns the cost of tokens, rounded to a millionth. Undefined without a price. */
export const costOf = (usage: Usage, price: Price | undefined): number | undefined =>
  price &&
  Math.round(usage.input_tokens * price.input + usage.output_tokens * price.output) / 1_000_000

/** Formats input and output tokens and their cost: `120 + 30 tokens, cost 0.000036`. */
export function usageText(usage: Usage, price: Price | undefined): string {
  const cost = costOf(usage, price)
  const tokens = `${usage.input_tokens} + ${usage.output_tokens} tokens`
  return cost === undefined ? tokens : `${tokens}, cost ${decimal(cost)}`
}

/** Never in exponential notation. */
const decimal = (cost: number): string => cost.toFixed(6).replace(/\.?0+$/, '')
