import type { AssignmentReason, DeliveryReason, JobReason, VerdictReason } from '../schemas/jobs.ts'
import type { Cause } from './cause.ts'
import { jobCauses } from './job-causes.ts'
import { nodeCauses } from './node-causes.ts'
import { providerCauses } from './provider-causes.ts'

/** The code of a cause that a job's history can name. */
export type StoryCode =
  | AssignmentReason
  | DeliveryReason
  | VerdictReason
  | Exclude<JobReason, 'quorum-agreed'>

/** The causes that a job's history can name, by code. */
export const storyCauses: Readonly<Record<StoryCode, Cause>> = {
  ...providerCauses,
  ...nodeCauses,
  ...jobCauses,
}
