import type { JobListView } from '../../lib/schemas/list.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Job } from '../rules/job.ts'

/** A job's list, in the form that its client and its receipt have. */
export const viewList = ({ list, passed }: Job): JobListView => ({
  terms: list.terms,
  block: list.block,
  members: [...list.members],
  passed: passed.map(({ position, reason, at }) => ({ position, reason, at: toSeconds(at) })),
  activator: list.activator,
  until: list.until,
})
