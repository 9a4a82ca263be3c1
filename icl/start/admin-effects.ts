import { JobId } from '../../lib/codecs.ts'
import type { AdminContext } from '../admin/context.ts'
import { listEffects, type OpenEffect, retryEffects } from '../admin/effects.ts'
import { type AdminCommand, done, nothingThere, recorded, typedAs, Whole } from './admin-command.ts'
import { columns, time } from './admin-text.ts'

/** The commands about effects that are not delivered yet. */
export const effectCommands: readonly AdminCommand[] = [
  {
    usage: 'effects list [--limit N]',
    summary: 'Effects that are not delivered yet: grants, scores, results to commit',
    prepare: (_, flags) => {
      const limit = typedAs(Whole(1), flags.limit ?? '100', '--limit')
      return async (context) => {
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
      }
    },
  },
  {
    usage: 'effects retry [job]',
    summary: 'Deliver the effects of a job, or of all jobs, now',
    prepare: ([text]) => {
      const job = text === undefined ? undefined : typedAs(JobId, text, 'A job')
      return (context) =>
        recorded(context, `effects retry${job ? ` ${job}` : ''}`, async () => {
          const retried = job ? await retryEffects(context, job) : await retryAll(context)
          if (retried === undefined)
            throw nothingThere(`There is no job ${job}`, 'See `effects list`.')
          return done(`${retried} effects are due now that were due later`, { retried })
        })
    },
  },
]

async function retryAll(context: AdminContext): Promise<number> {
  const jobs = new Set<JobId>()
  for await (const { jobId } of listEffects(context)) jobs.add(jobId)
  let retried = 0
  for (const job of jobs) retried += (await retryEffects(context, job)) ?? 0
  return retried
}
