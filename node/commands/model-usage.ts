import type { Config } from '../config.ts'
import { costOf, noUsage, sumOf, usageText } from '../inference/usage.ts'
import type { JobRecord } from '../journal/history.ts'
import { timeText } from './amounts.ts'

/** The tokens of one model's jobs, as far as the history goes back. `since` is Unix seconds. */
export type ModelUsage = {
  readonly model_id: string
  readonly jobs: number
  readonly input_tokens: number
  readonly output_tokens: number
  /** At the configured price, null without one. */
  readonly cost: number | null
  readonly since: number
}

/** Adds up the tokens of each model's jobs. Leaves out jobs without a count of the provider. */
export function modelUsageOf(
  history: readonly JobRecord[],
  prices: Config['prices'],
): readonly ModelUsage[] {
  const counted = history.filter(({ usage }) => usage !== undefined)
  const models = [...new Set(counted.map(({ model_id }) => model_id))]
  return models.map((model_id) => {
    const jobs = counted.filter((job) => job.model_id === model_id)
    const usage = sumOf(jobs.map((job) => job.usage ?? noUsage))
    const cost = costOf(usage, prices[model_id]) ?? null
    const since = Math.min(...jobs.map(({ started_at }) => started_at))
    return { model_id, jobs: jobs.length, ...usage, cost, since }
  })
}

/** `openai:x: 12 jobs, 1440 + 360 tokens, cost 0.000432, since 2026-11-21 10:14:09 UTC`. */
export const modelUsageText = (usage: ModelUsage, prices: Config['prices']): string =>
  `${usage.model_id}: ${usage.jobs} jobs, ${usageText(usage, prices[usage.model_id])}, since ${timeText(usage.since)}`
