import type { JobId } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { dueKey, jobKey, nodeKey } from '../async/notifier.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Command } from '../rules/commands.ts'
import { isSettled, type Job } from '../rules/job.ts'
import { excuse, type Outage } from '../rules/outages.ts'
import { transition } from '../rules/transition.ts'
import type { Write } from '../store/store.ts'
import { notePhaseChange } from '../telemetry/phase-change.ts'
import { receiptFor } from './make-receipt.ts'

const maxTries = 50

/** What is saved together with a changed job. */
export type Alongside = (job: Job) => Promise<readonly Write[]>

const nothing: Alongside = async () => []

/** The job, or the problem that it does not exist. */
export async function loadJob({ store, outages }: Dependencies, id: JobId): Promise<Job> {
  const [found, missed] = await Promise.all([store.findJob(id), outages.known()])
  if (!found) throw new ProblemError('job-not-found', `There is no job ${id}`)
  return excuse(found.document, missed)
}

/**
 * Loads a job, applies a command, and saves what comes of it unless another process saved first: then it starts again. Throws
 * the rule's refusal as a problem, once what the refused command shows is saved. What `alongside` gives for the changed job is
 * saved in the same save. Changes of one job take turns: `command` asks nobody but the store.
 */
export async function changeJob(
  deps: Dependencies,
  id: JobId,
  command: Command | ((job: Job) => Promise<Command | undefined>),
  alongside: Alongside = nothing,
): Promise<Job> {
  let refusal: ProblemError | undefined
  const missed = await deps.outages.all()
  const changed = await updateJob(
    deps,
    id,
    async (found) => {
      refusal = undefined
      // Before anything else: no deadline passes while the ICL is away.
      const job = afterOutages(deps, found, missed)
      const wanted = typeof command === 'function' ? await command(job) : command
      if (!wanted) return job
      const next = transition(job, wanted, deps.clock.now(), deps.limits)
      if (!('refused' in next)) return withReceipt(deps, next.job)
      refusal = new ProblemError(next.refused, next.detail)
      return next.noted?.job ?? job
    },
    // What a refused command shows is saved alone.
    async (job) => (refusal ? [] : alongside(job)),
  )
  if (refusal) throw refusal
  return changed
}

const afterOutages = (deps: Dependencies, job: Job, outages: readonly Outage[]): Job =>
  after(deps, job, { type: 'miss-time', outages })

/** The job with its receipt once it has been accepted, so that no accepted job is saved without one. */
async function withReceipt(deps: Dependencies, job: Job): Promise<Job> {
  const made = await receiptFor(deps, job)
  return made ? after(deps, job, { type: 'receipt-made', ...made }) : job
}

/** The job after a command that no rule refuses. */
function after({ clock, limits }: Dependencies, job: Job, command: Command): Job {
  const next = transition(job, command, clock.now(), limits)
  return 'refused' in next ? job : next.job
}

/** A change of a job that waits for its turn. */
type Change = {
  readonly deps: Dependencies
  readonly change: (job: Job) => Promise<Job> | Job
  readonly alongside: Alongside
  readonly resolve: (job: Job) => void
  readonly reject: (error: unknown) => void
}

/**
 * Saves what `change` makes of a job, in its turn, starting again when another process saved in between. Changes that come at about the
 * same time, as those of the members of a quorum do, are made one after the other and saved once: all, or none of them.
 */
const updateJob = (
  deps: Dependencies,
  id: JobId,
  change: Change['change'],
  alongside: Alongside,
): Promise<Job> =>
  new Promise((resolve, reject) => {
    const one: Change = { deps, change, alongside, resolve, reject }
    deps.changes.add(id, one, (changes) => updateInTurn(id, changes))
  })

async function updateInTurn(id: JobId, changes: readonly Change[]): Promise<void> {
  let left = changes
  try {
    for (let attempt = 0; attempt < maxTries && left.length > 0; attempt++) {
      left = await tryAll(id, left)
    }
    if (left.length === 0) return
    throw new ProblemError('unavailable', 'The job is being changed by too many at once', {
      retryAfterSeconds: 1,
    })
  } catch (error) {
    for (const { reject } of left) reject(error)
  }
}

/** Makes the changes that can be made, and saves them; gives those for which the job has to be looked at again. */
async function tryAll(id: JobId, changes: readonly Change[]): Promise<readonly Change[]> {
  const store = changes[0]?.deps.store
  const found = await store?.findJob(id)
  if (!store || !found) throw new ProblemError('job-not-found', `There is no job ${id}`)
  let job = found.document
  const failed: (Change & { error: unknown })[] = []
  const made: (Change & { before: Job; after: Job; writes: readonly Write[] })[] = []
  for (const one of changes) {
    try {
      const after = await one.change(job)
      const writes = after === job ? [] : await one.alongside(after)
      made.push({ ...one, before: job, after, writes })
      job = after
    } catch (error) {
      // It may rest on a change before it, which is not saved yet.
      failed.push({ ...one, error })
    }
  }
  if (job !== found.document) {
    const writes = made.flatMap((one) => one.writes)
    const refused = await store.saveAll([
      ...writes,
      { kind: 'job', job, base: found.version } as const,
    ])
    if (refused) return changes
  }
  for (const { error, reject } of failed) reject(error)
  for (const { deps, before, after, resolve } of made) {
    if (after !== before) notifyOfChange(deps, before, after)
    resolve(after)
  }
  return []
}

/** Tells everybody who waits for news of this job. */
export function notifyOfChange(deps: Dependencies, before: Job | undefined, job: Job): void {
  const { notifier, log, metrics, clock } = deps
  notePhaseChange(metrics, before, job, clock.now())
  notifier.notify(jobKey(job.id))
  const known = new Map(
    before?.assignments.map((assignment) => [assignment.fence, assignment.status]),
  )
  for (const { fence, node, status, poll } of job.assignments) {
    const isForPoll = status === 'offered' || (status === 'claimed' && poll !== undefined)
    if (isForPoll && known.get(fence) !== status) notifier.notify(nodeKey(node))
  }
  if (job.outbox.length > 0 || job.fillAt !== undefined) notifier.notify(dueKey)
  const lastSeen = before?.events.at(-1)?.seq ?? 0
  for (const event of job.events.filter(({ seq }) => seq > lastSeen)) {
    log.info(`job ${event.type}`, {
      jobId: job.id,
      phase: job.phase,
      node: event.node,
      role: event.role,
      fence: event.fence,
      detail: event.detail,
    })
  }
  if (isSettled(job.phase) && !(before && isSettled(before.phase))) {
    log.info('job settled', { jobId: job.id, phase: job.phase, reason: job.reason })
  }
}
