import type { JobId } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Journal } from '../journal/journal.ts'
import type { AssignmentId } from '../journal/read-journal.ts'

/** How many requests a node makes to its provider for one job, under all fences: the ICL decides how often a job comes back. */
export const mostRequests = 3

const rememberedJobs = 1_000

/** Limits the paid requests for each job. After a restart the journal's notes count, one for all requests of an assignment. */
export type Budget = {
  /** Throws the last failure of a job that has used up its requests, SvcError `asked-enough` if this run knows none. */
  check(jobId: JobId): void
  /** Notes on disk that the provider is about to be asked, and returns the function that counts each request, up to `most` of the job. Throws as `check`. */
  begin(id: AssignmentId, most?: number): () => boolean
  /** Remembers why the provider gave no answer. */
  failed(jobId: JobId, error: unknown): void
}

/** Makes the budget of a node. */
export function createBudget(journal: Pick<Journal, 'askedFor' | 'note'>): Budget {
  const jobs = new Map<JobId, { readonly made: number; readonly failure?: unknown }>()
  const madeFor = (jobId: JobId) => Math.max(jobs.get(jobId)?.made ?? 0, journal.askedFor(jobId))
  const remember = (jobId: JobId, change: { made?: number; failure?: unknown }) => {
    const next = { made: 0, ...jobs.get(jobId), ...change }
    jobs.delete(jobId)
    jobs.set(jobId, next)
    const [oldest] = jobs.keys()
    if (jobs.size > rememberedJobs && oldest !== undefined) jobs.delete(oldest)
  }
  const check = (jobId: JobId, most = mostRequests) => {
    if (madeFor(jobId) >= most) throw jobs.get(jobId)?.failure ?? askedEnough()
  }
  return {
    check,
    begin({ jobId, fence }, most = mostRequests) {
      check(jobId, most)
      const before = madeFor(jobId)
      let mine = 0
      journal.note({ step: 'asked', jobId, fence })
      return () => {
        // Two fences of a job may run at once.
        const made = Math.max(before + mine, jobs.get(jobId)?.made ?? 0)
        if (made >= most) return false
        mine += 1
        remember(jobId, { made: made + 1 })
        return true
      }
    },
    failed(jobId, failure) {
      // The ICL's word that the job is over is no failure.
      if (failure instanceof SvcError) remember(jobId, { failure })
    },
  }
}

const askedEnough = (): SvcError =>
  new SvcError(
    'asked-enough',
    `the provider was asked ${mostRequests} times for this job, and is asked no more`,
    { hint: 'If many jobs end so, tell the operator of the ICL.' },
  )
