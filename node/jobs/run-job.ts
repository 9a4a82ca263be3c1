import { unixSeconds } from '../../lib/clock.ts'
import type { AssignmentOffer } from '../../lib/schemas/assignments.ts'
import { workOn } from './do-work.ts'
import type { JobDeps, JobSteps } from './job-deps.ts'
import { giveBack, toItsEnd } from './job-end.ts'
import { inJobTime } from './job-time.ts'
import { signedBefore } from './signed-before.ts'

/** Runs an assignment to its end (spec 3.3). Never rejects: logs a failure and gives the job back. */
export async function runJob(
  deps: JobDeps,
  assignment: AssignmentOffer,
  signal: AbortSignal,
  steps: JobSteps,
): Promise<void> {
  const { jobId, role, fence } = assignment
  const at = unixSeconds(deps.clock)
  deps.log.info(`Job ${jobId}: starting as ${role}`)
  try {
    // An ICL that has lost its jobs offers them again. A second signed answer would contradict the first.
    if (deps.journal.isSigned(assignment)) {
      await giveBack(deps, assignment, signedBefore(), signal)
      return
    }
    await toItsEnd(deps, { ...assignment, startedAt: at }, signal, async (onUsage) => {
      deps.journal.note({ step: 'started', jobId, fence, at, assignment })
      return await inJobTime(deps.clock, signal, (ended) =>
        workOn(deps, assignment, ended, { ...steps, onUsage }),
      )
    })
  } finally {
    steps.onClaimed()
  }
}
