import { causes, remedyFor, whatOf } from '../causes.ts'
import type { AssignmentReason, JobView } from '../schemas/jobs.ts'
import { SvcError } from '../svc-error.ts'

/** Returns the error that says why a job finds no nodes, from the reasons that ended its assignments. */
export function stuckJobError(view: JobView): SvcError {
  const reason = commonReason(view)
  if (reason === undefined || causes[reason].who === 'nobody') {
    const known = reason === undefined ? '' : ` (last reason: ${reason})`
    return new SvcError('not-enough-nodes', `No node is left that can do the job${known}`, {
      hint: remedyFor('client', 'not-enough-nodes'),
      retryable: true,
    })
  }
  return jobError(view, reason)
}

/** Returns the error of a cause, with the cause's own code. */
export function jobError(
  { model_id: model }: Pick<JobView, 'model_id'>,
  reason: AssignmentReason,
): SvcError {
  const { who, passes } = causes[reason]
  const remedy = remedyFor('client', reason, model)
  const canRepeat = passes === true && who === 'node operator'
  return new SvcError(reason, `No node could do the job: ${whatOf(reason, model)}`, {
    hint: canRepeat ? `Run the job again: it draws nodes anew. ${remedy}` : remedy,
    retryable: passes === true && who !== 'client',
  })
}

/** Returns the reason that ended most of a job's assignments. */
export function commonReason(view: Pick<JobView, 'quorum'>): AssignmentReason | undefined {
  const counts = new Map<AssignmentReason, number>()
  for (const { reason } of view.quorum) {
    if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0]
}
