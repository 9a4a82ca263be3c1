/*
 * Problem: a daemon was killed in the middle of a job. If it repeated the job, it could pay for a second answer at the provider, and sign
 * two answers to one assignment.
 *
 * Idea: the journal says how far the job got, and the ICL says what is left of it. With a commitment in the journal, the node goes on with
 * the step that the ICL names next. Without one, it starts again from the claim.
 *
 * Invariants: A statement is signed once, and sent as it is in the journal. Prompt, key and the answer's text are not on disk: a checker
 * fetches and decrypts the first two again, and the node does not deliver any more. A sealed answer that others weigh is there.
 * The node runs at most two inferences for one assignment.
 *
 * Failure cases: the ICL does not respond (the node retries); the assignment is gone or the job has settled (the node leaves it); the ICL
 * has a commitment that the journal lacks, or the daemon ended twice while it worked (the node gives the assignment back).
 */

import { errorText } from '../../lib/host/explain-error.ts'
import type { OwnAssignment } from '../../lib/schemas/assignments.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { jittered } from '../jitter.ts'
import type { JournalEntry } from '../journal/steps.ts'
import { isGone, isPassing } from './abort-reason.ts'
import { afterCommit, whenOver } from './after-commit.ts'
import { recoverSecrets } from './answer.ts'
import { overWith } from './await-step.ts'
import { commit } from './commit.ts'
import { workOn } from './do-work.ts'
import { fetchAcks } from './fetch-acks.ts'
import type { JobDeps, JobSteps } from './job-deps.ts'
import { type Ending, toItsEnd } from './job-end.ts'
import { inJobTime } from './job-time.ts'
import type { Own, Taken } from './own.ts'

const firstRetryMs = 2_000
const maxRetryMs = 30_000
// A job that killed the daemon twice must not do so for ever, nor cost a third answer.
const maxAsked = 2

/** Resumes a job that a killed daemon left unfinished, or ends it when the ICL no longer holds its place. Never rejects. */
export async function resumeJob(
  deps: JobDeps,
  entry: JournalEntry,
  signal: AbortSignal,
  steps: JobSteps,
): Promise<void> {
  const { assignment, startedAt } = entry
  deps.log.info(`Job ${assignment.jobId}: resuming as ${assignment.role} after a restart`)
  try {
    await toItsEnd(deps, { ...assignment, startedAt }, signal, async (onUsage) => {
      const found = await ownAssignmentOf(deps, entry, signal)
      if ('over' in found) {
        const { claim, committed } = entry
        const taken: Taken = found.isAnswered ? { answer: entry.answer } : {}
        if (claim && committed) {
          const own = { ...ownOf(deps, entry, { claim, committed }, onUsage), taken }
          await fetchAcks({ deps, claim, own, signal }, 'over')
        }
        // Of the killed daemon's last statement, the ICL tells only whether it has the answer.
        return whenOver(deps, assignment, taken, found.over)
      }
      return await inJobTime(deps.clock, signal, (ended) =>
        goOn(deps, entry, found, ended, { ...steps, onUsage }),
      )
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
  steps: Parameters<typeof workOn>[3],
): Promise<Ending> {
  const { assignment, claim, committed, answer } = entry
  const isWorking = view.step === 'work'
  if (claim && committed) {
    const own = ownOf(deps, entry, { claim, committed }, steps.onUsage)
    steps.onSlotFree()
    const part = { deps, claim, own, signal }
    const next = isWorking ? await commit(part) : view
    if (view.status === 'revealed') own.taken.answer = answer
    return await afterCommit(part, next)
  }
  if (!isWorking) throw cannotGoOn('the journal does not hold its commitment')
  if (entry.asked >= maxAsked) throw cannotGoOn('the daemon ended twice while it ran')
  return await workOn(deps, assignment, signal, steps)
}

/** Restores the state from the journal. The prompt and the evidence key are not on disk and are recovered from the prompt key. */
const ownOf = (
  deps: JobDeps,
  { answer, delivery, numbers, verdicts }: JournalEntry,
  { claim, committed }: Required<Pick<JournalEntry, 'claim' | 'committed'>>,
  onUsage: Own['onUsage'],
): Own => ({
  ...{ committed, answer, delivery, numbers, verdicts, onUsage },
  ...(numbers && { weighing: Promise.resolve(numbers) }),
  secrets: (ended) => recoverSecrets(deps, claim, ended),
  looked: new Map(),
  taken: {},
  acknowledged: new Set(),
})

/** Returns the state of the node's assignment, or why nothing is left of it. Retries with a growing backoff until the ICL responds. */
async function ownAssignmentOf(
  { api, clock, random, log }: JobDeps,
  { assignment: { jobId, fence } }: JournalEntry,
  signal: AbortSignal,
): Promise<OwnAssignment | { readonly over: string; readonly isAnswered: boolean }> {
  for (let waitMs = firstRetryMs; ; waitMs = Math.min(waitMs * 2, maxRetryMs)) {
    try {
      const view = await api.getAssignment({ params: { jobId }, query: { wait: 0 } }, { signal })
      const over = overWith(view, fence)
      return over === undefined ? view : { over, isAnswered: view.status === 'revealed' }
    } catch (error) {
      signal.throwIfAborted()
      if (isGone(error)) return { over: errorText(error), isAnswered: false }
      if (!isPassing(error)) throw error
      log.warning(`Job ${jobId}: waiting to resume until the ICL responds: ${errorText(error)}`)
    }
    await clock.sleep(jittered(random, waitMs), signal)
  }
}

const cannotGoOn = (why: string): SvcError =>
  new SvcError('node-crashed', `the job cannot go on after the restart: ${why}`, {
    hint: 'See in the system log what ended the daemon.',
  })
