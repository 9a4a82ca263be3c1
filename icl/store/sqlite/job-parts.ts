import type { Job } from '../../rules/job.ts'
import { encodeDocument } from '../encoding.ts'

// What of a job stays as it was submitted. With each save of the job it would be written again.
const submitted = [
  'id',
  'client',
  'clientNonce',
  'modelId',
  'minTier',
  'promptCid',
  'kpHighHandle',
  'kpLowHandle',
  'parameters',
  'comparator',
  'submissionHash',
  'createdAt',
  'list',
] as const satisfies readonly (keyof Job)[]
const names: ReadonlySet<string> = new Set(submitted)

const partOf = (job: Job, isSubmitted: boolean): Partial<Job> =>
  Object.fromEntries(Object.entries(job).filter(([key]) => names.has(key) === isSubmitted))

/** What changes of a job after its submission. */
export const changingPart = (job: Job): Partial<Job> => partOf(job, false)

/** The text of the rest of it; undefined when it is that of the job before. */
export const newSubmission = (before: Job | undefined, job: Job): string | undefined =>
  before && submitted.every((key) => before[key] === job[key])
    ? undefined
    : encodeDocument(partOf(job, true))

/** The columns of a job, its two texts joined to one. */
export const wholeJob = `id, version,
  (SELECT substr(document, 1, length(document) - 1) FROM job_submissions WHERE id = jobs.id)
  || ',' || substr(document, 2) AS document`
