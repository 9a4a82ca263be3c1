import { JobId } from '../../lib/codecs.ts'
import { option } from '../../lib/host/program/option.ts'
import type { Command } from '../../lib/host/program/program.ts'
import type { AdminContext } from '../admin/context.ts'
import { listEffects, type OpenEffect, retryEffects } from '../admin/effects.ts'
import {
  type AdminTerminal,
  Count,
  done,
  nothingThere,
  recorded,
  storeCommand,
} from './admin-command.ts'
import { columns, time } from './admin-text.ts'

/** The commands about effects that are not delivered yet. */
export const effectCommands: readonly Command<AdminTerminal>[] = [
  storeCommand({
    name: 'effects list',
    summary: 'Effects that are not delivered yet: grants, scores, results to commit',
    options: { limit: option(Count.default(100), 'N', 'List so many') },
    prepare:
      ({ limit }) =>
      async (context) => {
        const effects: OpenEffect[] = []
        for await (const effect of listEffects(context)) {
          if (effects.push(effect) >= limit) break
        }
        const rows = effects.map(({ jobId, pending: { effect, attempts, dueAt, error } }) => ({
          jobId,
          effect: effect.type,
          node: 'node' in effect ? effect.node : undefined,
          attempts,
          due_at: time(dueAt),
          error,
        }))
        return {
          json: rows,
          lines: columns([
            ['job', 'effect', 'tries', 'due', 'last error'],
            ...rows.map((row) => [
              row.jobId,
              row.effect,
              String(row.attempts),
              row.due_at,
              row.error ?? '-',
            ]),
          ]),
        }
      },
  }),
  storeCommand({
    name: 'effects retry',
    summary: 'Deliver the effects of a job, or of all jobs, now',
    args: { job: option(JobId.optional(), 'JOB') },
    prepare:
      ({ job }) =>
      (context) =>
        recorded(context, `effects retry${job ? ` ${job}` : ''}`, async () => {
          const retried = job ? await retryEffects(context, job) : await retryAll(context)
          if (retried === undefined)
            throw nothingThere(`There is no job ${job}`, 'See `effects list`.')
          return done(`${retried} effects are due now that were due later`, { retried })
        }),
  }),
]

async function retryAll(context: AdminContext): Promise<number> {
  const jobs = new Set<JobId>()
  for await (const { jobId } of listEffects(context)) jobs.add(jobId)
  let retried = 0
  for (const job of jobs) retried += (await retryEffects(context, job)) ?? 0
  return retried
}
