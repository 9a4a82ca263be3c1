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
export type Alongside = {
  writes(job: Job): Promise<readonly Write[]>
  /** Called when one of them is refused, before the job is looked at again. */
  onRefused(write: Write): void
}

const noWrites: Alongside = { writes: async () => [], onRefused: () => {} }

/** The job, or the problem that it does not exist. */
export async function loadJob({ store, outages }: Dependencies, id: JobId): Promise<Job> {
  const [found, missed] = await Promise.all([store.findJob(id), outages.known()])
  if (!found) throw new ProblemError('job-not-found', `There is no job ${id}`)
  return excuse(found.document, missed)
}

/**
 * Loads a job, applies a command, and saves what comes of it unless another process saved first: then it starts again. Throws
 * the rule's refusal as a problem, once what the refused command shows is saved. What `alongside` gives for the changed job is
 * saved in the same save. All others who change the job wait meanwhile: `command` asks nobody but the store.
 */
export async function changeJob(
  deps: Dependencies,
  id: JobId,
  command: Command | ((job: Job) => Promise<Command | undefined>),
  alongside: Alongside = noWrites,
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
    { ...alongside, writes: async (job) => (refusal ? [] : alongside.writes(job)) },
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

/** Saves what `change` makes of a job, in its turn, starting again when another process saved in between. */
const updateJob = (
  deps: Dependencies,
  id: JobId,
  change: (job: Job) => Promise<Job> | Job,
  alongside: Alongside,
): Promise<Job> => deps.turns(`job ${id}`, () => updateInTurn(deps, id, change, alongside))

async function updateInTurn(
  deps: Dependencies,
  id: JobId,
  change: (job: Job) => Promise<Job> | Job,
  alongside: Alongside,
): Promise<Job> {
  for (let attempt = 0; attempt < maxTries; attempt++) {
    const found = await deps.store.findJob(id)
    if (!found) throw new ProblemError('job-not-found', `There is no job ${id}`)
    const job = await change(found.document)
    if (job === found.document) return job
    const writes = await alongside.writes(job)
    const refused = await deps.store.saveAll([...writes, { kind: 'job', job, base: found.version }])
    if (!refused) {
      notifyOfChange(deps, found.document, job)
      return job
    }
    if (refused.kind !== 'job') alongside.onRefused(refused)
  }
  throw new ProblemError('unavailable', 'The job is being changed by too many at once', {
    retryAfterSeconds: 1,
  })
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
