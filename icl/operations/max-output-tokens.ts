import { defaultMaxOutputTokens } from '../../lib/schemas/jobs.ts'
import type { Job } from '../rules/job.ts'

/** The longest answer that the job allows. */
export const maxOutputTokensOf = ({ parameters }: Pick<Job, 'parameters'>): number =>
  parameters.max_output_tokens ?? defaultMaxOutputTokens
