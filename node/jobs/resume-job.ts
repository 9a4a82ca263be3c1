/*
 * Problem: a daemon was killed in the middle of a job. Doing the job again could cost a second answer at the
 * provider, and could make the node sign two answers to one assignment.
 *
 * Idea: the journal says how far the job got, the ICL says what is left of it. The later of the recorded steps
 * decides what to do: send a signed verdict or result again byte for byte; send a commitment again and go on to
 * the reveal; or, when nothing was committed or signed, work from the claim on.
 *
 * Invariants:
 * - A signed answer is never made anew. It is sent as it is in the journal.
 * - A commitment is opened with the evidence and salt of the journal. Prompt and key are not on disk: they are
 *   fetched and decrypted again.
 * - The provider is asked at most twice for one assignment.
 * - The function never rejects: a failure gives the assignment back and is logged.
 *
 * Failure cases: the ICL does not answer (asks again, with growing waits up to 30 s); the assignment lapsed, was
 * offered again under a higher fence, or the job has settled (it is left as it is); the ICL has a commitment that
 * the journal has not, or the daemon ended twice while it worked (the assignment is given back).
 */

import { errorText } from '../../lib/host/explain-error.ts'
import type { OwnAssignment } from '../../lib/schemas/assignments.ts'
import type { JobPhase } from '../../lib/schemas/jobs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { jittered } from '../jitter.ts'
import type { JournalEntry } from '../journal/steps.ts'
import { messages } from '../log-messages.ts'
import { isGone, isPassing } from './abort-reason.ts'
import { recoverSecrets } from './answer.ts'
import { revealInTime, workOn } from './do-work.ts'
import type { JobDeps, JobSteps } from './job-deps.ts'
import { type Ending, leave, toItsEnd } from './job-end.ts'
import { deliverResult } from './leader.ts'
import { leaseOf } from './lease.ts'
import { deliverVerdict, sendCommitment } from './verifier.ts'

const firstRetryMs = 2_000
const maxRetryMs = 30_000
// A job that killed the daemon twice must not do it for ever, nor cost a third answer.
const maxAsked = 2

/** Goes on with a job that a killed daemon left unfinished: finishes it while the ICL holds its place, else ends it with the reason; never rejects. */
export async function resumeJob(
  deps: JobDeps,
  entry: JournalEntry,
  signal: AbortSignal,
  steps: JobSteps,
): Promise<void> {
  const { assignment, startedAt } = entry
  deps.log.info(messages.jobResuming(assignment.jobId, assignment.role))
  try {
    await toItsEnd(deps, { ...assignment, startedAt }, signal, async () => {
      const found = await ownAssignmentOf(deps, entry, signal)
      if ('over' in found) return leave(deps, assignment, found.over)
      return await goOn(deps, entry, found, signal, steps)
    })
  } finally {
    steps.onClaimed()
  }
}

async function goOn(
  deps: JobDeps,
  entry: JournalEntry,
  view: OwnAssignment,
  signal: AbortSignal,
  steps: JobSteps,
): Promise<Ending> {
  const { assignment, claim, committed, result, verdict } = entry
  const { jobId } = assignment
  // The answer had arrived; only its acknowledgement was lost.
  if (view.status === 'done') {
    deps.log.info(messages.answerArrived(jobId))
    return answered(entry)
  }
  if (view.status === 'committed') steps.onSlotFree()
  if (verdict) return await deliverVerdict(deps, verdict, signal)
  const lease = leaseOf(deps, assignment, (view.deadline ?? view.server_time) - view.server_time)
  if (result) return await lease.within(signal, (leased) => deliverResult(deps, result, leased))
  if (claim && committed) {
    if (view.status === 'claimed') {
      await lease.within(signal, (leased) => sendCommitment(deps, claim, committed, leased))
      steps.onSlotFree()
    }
    // Neither the prompt nor the key of the evidence is on disk: both are had again from the prompt key.
    const secrets = (ended: AbortSignal) => recoverSecrets(deps, claim, ended)
    return await revealInTime(deps, claim, { ...committed, secrets }, signal)
  }
  if (view.status === 'committed') throw cannotGoOn('the journal does not hold its commitment')
  if (entry.asked >= maxAsked) throw cannotGoOn('the daemon ended twice while it ran')
  return await workOn(deps, assignment, signal, steps)
}

function answered({ result, verdict }: JournalEntry): Ending {
  if (result) return { outcome: 'result-posted' }
  if (!verdict) return { outcome: 'given-up', reason: 'the answer is not in the journal' }
  return { outcome: verdict.verdict, ...(verdict.reason && { reason: verdict.reason }) }
}

const live: readonly JobPhase[] = ['open', 'running']

/** Where the node's assignment stands, or why nothing is left of it; asks with growing waits until the ICL answers. */
async function ownAssignmentOf(
  { api, clock, random, log }: JobDeps,
  { assignment: { jobId, fence } }: JournalEntry,
  signal: AbortSignal,
): Promise<OwnAssignment | { readonly over: string }> {
  for (let waitMs = firstRetryMs; ; waitMs = Math.min(waitMs * 2, maxRetryMs)) {
    try {
      const view = await api.getAssignment({ params: { jobId }, query: { wait: 0 } }, { signal })
      if (view.fence !== fence) return { over: 'the assignment was offered again' }
      if (view.status === 'done') return view
      if (!live.includes(view.phase)) return { over: `the job is ${view.phase}` }
      if (view.status === 'lapsed' || view.status === 'aborted') {
        return { over: `the assignment is ${view.status}` }
      }
      return view
    } catch (error) {
      signal.throwIfAborted()
      if (isGone(error)) return { over: errorText(error) }
      if (!isPassing(error)) throw error
      log.warning(messages.resumeDelayed(jobId, errorText(error)))
    }
    await clock.sleep(jittered(random, waitMs), signal)
  }
}

const cannotGoOn = (why: string): SvcError =>
  new SvcError('node-crashed', `the job cannot go on after the restart: ${why}`, {
    hint: 'See what ended the daemon; the system log may say.',
  })
