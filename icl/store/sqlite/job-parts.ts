import type { Job } from '../../rules/job.ts'
import { encodeDocument } from '../encoding.ts'

// The fields of a job that never change after its submission. They are stored apart, so that later saves do not write them again.
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

/** Returns the fields of a job that may change after its submission. */
export const changingPart = (job: Job): Partial<Job> => partOf(job, false)

/** Encodes the submitted fields of a job; undefined when they are those of the job before. */
export const newSubmission = (before: Job | undefined, job: Job): string | undefined =>
  before && submitted.every((key) => before[key] === job[key])
    ? undefined
    : encodeDocument(partOf(job, true))

/** The columns of a job, with its two texts joined into one document. */
export const wholeJob = `id, version,
  (SELECT substr(document, 1, length(document) - 1) FROM job_submissions WHERE id = jobs.id)
  || ',' || substr(document, 2) AS document`
