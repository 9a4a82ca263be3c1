import type { JobId } from '../../lib/codecs.ts'
import { within } from '../../lib/deadline.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Work } from '../async/work.ts'
import type { Dependencies } from '../dependencies.ts'
import { changeJob, loadJob } from '../operations/change-job.ts'
import { demandOf, memberStates } from '../pool/load-pool.ts'
import type { Job, MemberState } from '../rules/job.ts'
import { replicaFor } from '../rules/share.ts'
import { needsMembers } from '../rules/tick.ts'
import type { LiveReplicas } from './leadership.ts'

const batchSize = 256
const overdueMs = 3_000
/** How long a tick waits for the chain, because a job must end soon after its deadline. The next tick uses a later answer. */
const membersMs = 5_000

/** Ticks this replica's share of the due jobs, and every job that another replica should have ticked 3 s ago. */
export async function tickDue(
  deps: Dependencies,
  work: Work,
  replicas: LiveReplicas,
): Promise<void> {
  const now = deps.clock.now()
  // Ticks that run or keep failing stay due. They must not hide the others.
  const limit = batchSize + work.size + work.failed
  const due = await deps.store.listDue('tick', now, limit)
  const ids = replicas.ids()
  const own = due.filter((id) => replicaFor(id, ids) === deps.replicaId)
  const overdue =
    own.length < due.length ? await deps.store.listDue('tick', now - overdueMs, limit) : []
  for (const id of new Set([...own, ...overdue])) {
    void work.start(`tick ${id}`, () => tickJob(deps, id))
  }
}

/** Ticks a due job, with the states of its list's members if seats are to be filled. */
async function tickJob(deps: Dependencies, id: JobId): Promise<void> {
  // Read before the job's turn to change, because the chain may be slow.
  const members = await membersFor(deps, await loadJob(deps, id))
  await changeJob(deps, id, async (job) => {
    const now = deps.clock.now()
    if (job.tickAt === undefined || job.tickAt > now) return undefined
    if (!needsMembers(job, now)) return { type: 'tick' }
    // Seats that have just become empty are filled at the next tick.
    return members && { type: 'tick', members }
  })
}

async function membersFor(
  deps: Dependencies,
  job: Job,
): Promise<readonly MemberState[] | undefined> {
  if (!needsMembers(job, deps.clock.now())) return undefined
  const states = memberStates(deps, job.list.members, demandOf(job), job.deadline)
  return await within(deps.clock, membersMs, membersLate, states)
}

const membersLate = () =>
  new SvcError('chain-unavailable', 'the state of the nodes of a list was not read in time', {
    hint: 'Check the chain RPC and the store.',
    retryable: true,
  })
