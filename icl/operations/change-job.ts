import type { JobId } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { dueKey, jobKey, nodeKey, roomKey, tickKey } from '../async/notifier.ts'
import type { Dependencies } from '../dependencies.ts'
import { unavailable } from '../records/unavailable.ts'
import type { Command } from '../rules/commands.ts'
import { byFence, isSettled, type Job, occupiesSlot } from '../rules/job.ts'
import { excuse, type Outage } from '../rules/outages.ts'
import { withReceipt } from '../rules/outbox.ts'
import { transition } from '../rules/transition.ts'
import { notePhaseChange } from '../telemetry/settled-job.ts'
import { keepingBlobs } from './keep-blobs.ts'
import { receiptFor } from './make-receipt.ts'

const maxTries = 50

/** Returns the job. Throws `job-not-found`. */
export async function loadJob({ store, outages }: Dependencies, id: JobId): Promise<Job> {
  const [found, missed] = await Promise.all([store.findJob(id), outages.known()])
  if (!found) throw new ProblemError('job-not-found', `There is no job ${id}`)
  return excuse(found.document, missed)
}

/**
 * Loads a job, applies a command and saves the result. Starts again when another process saved in between. A refusal is thrown as a
 * problem, after the change that it brings is saved. Keeps the job's blobs longer where the changed job needs that. Changes of one job take
 * turns, so `command` may await nothing but the store.
 */
export async function changeJob(
  deps: Dependencies,
  id: JobId,
  command: Command | ((job: Job) => Promise<Command | undefined>),
): Promise<Job> {
  let refusal: ProblemError | undefined
  const missed = await deps.outages.all()
  const changed = await updateJob(deps, id, async (found) => {
    refusal = undefined
    // First of all: time in which the ICL was away passes no deadline.
    const job = missed.length === 0 ? found : excused(deps, found, missed)
    const wanted = typeof command === 'function' ? await command(job) : command
    if (!wanted) return job
    const next = transition(job, wanted, deps.clock.now(), deps.limits)
    if (!('refused' in next)) {
      // No accepted job is saved without its receipt.
      const made = await receiptFor(deps, next.job)
      return made ? withReceipt(next.job, made) : next.job
    }
    refusal = new ProblemError(next.refused, next.detail)
    return next.noted?.job ?? job
  })
  if (refusal) throw refusal
  return changed
}

/** Moves the job's deadlines, which no rule refuses. */
function excused({ clock, limits }: Dependencies, job: Job, outages: readonly Outage[]): Job {
  const next = transition(job, { type: 'miss-time', outages }, clock.now(), limits)
  return 'refused' in next ? job : next.job
}

type Change = {
  readonly deps: Dependencies
  readonly change: (job: Job) => Promise<Job> | Job
  readonly resolve: (job: Job) => void
  readonly reject: (error: unknown) => void
}

/**
 * Applies `change` to a job in its turn and saves the result. Starts again when another process saved in between. Changes that come at
 * about the same time, such as those of a quorum's members, are applied one after the other and saved once: all, or none of them.
 */
const updateJob = (deps: Dependencies, id: JobId, change: Change['change']): Promise<Job> =>
  new Promise((resolve, reject) => {
    const one: Change = { deps, change, resolve, reject }
    deps.changes.add(id, one, (changes) => updateInTurn(id, changes))
  })

async function updateInTurn(id: JobId, changes: readonly Change[]): Promise<void> {
  let left = changes
  try {
    for (let attempt = 0; attempt < maxTries && left.length > 0; attempt++) {
      left = await tryAll(id, left)
    }
    if (left.length === 0) return
    throw unavailable('The job is being changed by too many at once', 1)
  } catch (error) {
    for (const { reject } of left) reject(error)
  }
}

/** Applies the changes and saves them together. Returns the changes to try again, because another process saved the job first. */
async function tryAll(id: JobId, changes: readonly Change[]): Promise<readonly Change[]> {
  const first = changes[0]?.deps
  const found = await first?.store.findJob(id)
  if (!first || !found) throw new ProblemError('job-not-found', `There is no job ${id}`)
  let job = found.document
  const failed: (Change & { error: unknown })[] = []
  const made: (Change & { before: Job; after: Job })[] = []
  for (const one of changes) {
    try {
      const after = await one.change(job)
      made.push({ ...one, before: job, after })
      job = after
    } catch (error) {
      // The error may come from a change before it, which is not saved yet.
      failed.push({ ...one, error })
    }
  }
  if (job !== found.document) {
    const write = { kind: 'job', job, base: found.version } as const
    const keeping = await keepingBlobs(first, found.document, job)
    const refused = await first.store.saveAll([...keeping, write])
    if (refused) return changes
  }
  for (const { error, reject } of failed) reject(error)
  for (const { deps, before, after, resolve } of made) {
    if (after !== before) notifyOfChange(deps, before, after)
    resolve(after)
  }
  return []
}

/** Whether an assignment in this status keeps a draw from going ahead. */
const takesRoom = (status: Job['assignments'][number]['status'] | undefined): boolean =>
  status !== undefined && (status === 'awaiting-grant' || occupiesSlot(status))

/** Notifies all requests that wait for news of this job. */
export function notifyOfChange(deps: Dependencies, before: Job | undefined, job: Job): void {
  const { notifier, log, metrics, clock } = deps
  notePhaseChange(metrics, before, job, clock.now())
  notifier.notify(jobKey(job.id))
  let leavesRoom = isSettled(job.phase)
  for (const { fence, node, status } of job.assignments) {
    const former = before && byFence(before, fence)?.status
    if (status === 'offered' && former !== status) notifier.notify(nodeKey(node))
    leavesRoom ||= takesRoom(former) && !takesRoom(status)
  }
  if (leavesRoom) notifier.notify(roomKey)
  if (job.outbox.length > 0) notifier.notify(dueKey)
  if (job.fillAt !== undefined) notifier.notify(tickKey)
  const lastSeen = before?.events.at(-1)?.seq ?? 0
  const newest = job.events.findLastIndex(({ seq }) => seq <= lastSeen) + 1
  for (const { type, node, role, fence, detail } of job.events.slice(newest)) {
    log.info(`job ${type}`, { jobId: job.id, phase: job.phase, node, role, fence, detail })
  }
  if (isSettled(job.phase) && !(before && isSettled(before.phase))) {
    log.info('job settled', { jobId: job.id, phase: job.phase, reason: job.reason })
  }
}
