import { unixSeconds } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import { retryAfterOf } from '../../lib/retry-after.ts'
import type { AssignmentOffer } from '../../lib/schemas/assignments.ts'
import type { AbortReason } from '../../lib/schemas/jobs.ts'
import type { TurnAbortStatement } from '../../lib/schemas/statements.ts'
import { signed } from '../../lib/statements.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Usage } from '../inference/provider.ts'
import { ProviderError } from '../inference/provider-call.ts'
import type { JobRecord } from '../journal/history.ts'
import { messages } from '../log-messages.ts'
import { abortReasonOf, isGone } from './abort-reason.ts'
import { type AssignmentId, callAttempts, type JobDeps } from './job-deps.ts'

const abortCallMs = 4_000

/** The job, for the history. Times are Unix seconds. */
type Ended = Pick<AssignmentOffer, 'jobId' | 'fence' | 'role' | 'model_id'> & {
  readonly startedAt: number
}

/** The outcome of a job. */
export type Ending = Pick<JobRecord, 'outcome' | 'reason' | 'deliverer'>

/** The abort reason of the jobs that the daemon ends when it stops. */
export const nodeStopping = (): SvcError =>
  new SvcError('node-stopping', 'the node is stopping', {
    hint: 'Start it again with `svc-node run`.',
  })

/** Runs `work` and records the outcome and the tokens used. Never rejects: on a failure it gives the assignment back and logs the error. */
export async function toItsEnd(
  deps: JobDeps,
  assignment: Ended,
  signal: AbortSignal,
  work: (onUsage: (usage: Usage) => void) => Promise<Ending>,
): Promise<void> {
  const { jobId, fence, role, model_id } = assignment
  const record = { jobId, fence, role, model_id, started_at: assignment.startedAt }
  remember(deps, { ...record, outcome: 'running' })
  // Recorded at once: the operator pays for the tokens whatever happens to the job or this process.
  const onUsage = (usage: Usage): void => remember(deps, { ...record, outcome: 'running', usage })
  const ending = await work(onUsage).catch(async (error: unknown): Promise<Ending> => {
    if (!isGone(error))
      return await giveBack(deps, assignment, signal.aborted ? signal.reason : error, signal)
    return leave(deps, assignment, errorText(error))
  })
  const ended_at = unixSeconds(deps.clock)
  remember(deps, { ...record, ended_at, ...ending })
  try {
    deps.journal.note({ step: 'ended', jobId, fence })
  } catch (error) {
    // After a restart the ICL says that the job is over.
    deps.log.warning(messages.notRecorded(jobId, errorText(error)))
  }
}

/** Leaves a job that the ICL has taken away or that is over. */
export function leave({ log }: JobDeps, { jobId }: Pick<Ended, 'jobId'>, why: string): Ending {
  log.warning(`Job ${jobId}: stopped: ${why}`)
  return { outcome: 'given-up', reason: why.slice(0, 1_000) }
}

function remember({ history, log }: JobDeps, record: JobRecord): void {
  try {
    history.append(record)
  } catch (error) {
    // The history is for the operator. A job does not fail when it cannot be written.
    log.warning(messages.notRecorded(record.jobId, errorText(error)))
  }
}

/** Gives an assignment back with the reason. While the ICL is away it retries until `signal` aborts. */
export async function giveBack(
  deps: JobDeps,
  { jobId, fence }: AssignmentId,
  error: unknown,
  signal: AbortSignal,
): Promise<Ending> {
  const reason: AbortReason = abortReasonOf(error)
  const { askedWaitMs } = error instanceof ProviderError ? error : {}
  const wait = askedWaitMs === undefined ? {} : { retry_after: retryAfterOf(askedWaitMs) }
  const body = { jobId, fence, reason, ...wait }
  await sendAbort(deps, jobId, error, signal, (options) =>
    deps.api.abortAssignment({ body }, options),
  )
  return { outcome: 'aborted', reason }
}

/** Gives back this node's part in a turn of the agreement. The node signs it, so that the ICL cannot make up an abort. */
export async function giveBackTurn(
  deps: JobDeps,
  { jobId, fence, turn }: AssignmentId & Pick<TurnAbortStatement, 'turn'>,
  error: unknown,
  signal: AbortSignal,
): Promise<void> {
  const { address, sessionKey } = deps
  const reason = abortReasonOf(error)
  const body = await signed(
    { statement: 'svc-abort-v2', jobId, address, fence, turn, reason },
    sessionKey,
  )
  await sendAbort(deps, jobId, error, signal, (options) => deps.api.abortTurn({ body }, options))
}

type CallOptions = NonNullable<Parameters<JobDeps['api']['abortAssignment']>[1]>

async function sendAbort(
  { log }: JobDeps,
  jobId: JobId,
  error: unknown,
  signal: AbortSignal,
  send: (options: CallOptions) => Promise<unknown>,
): Promise<void> {
  log.error(`Job ${jobId}: aborted: ${errorText(error)}`)
  const timeoutMs = abortCallMs
  try {
    // The job's own signal may have aborted already. The ICL must hear of it all the same.
    const lastTry = () => send({ attempts: 2, timeoutMs })
    await (signal.aborted
      ? lastTry()
      : send({ attempts: callAttempts, timeoutMs, signal }).catch((problem: unknown) => {
          if (!signal.aborted) throw problem
          return lastTry()
        }))
  } catch (problem) {
    if (!isGone(problem))
      log.warning(`Job ${jobId}: the abort could not be reported to the ICL: ${errorText(problem)}`)
  }
}
