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
import type { LiveReplicas } from './live-replicas.ts'

const batchSize = 256
const overdueMs = 3_000
/** How long a tick waits for the chain: a job must end soon after its deadline. A later answer is remembered for the next tick. */
const membersMs = 5_000

/** Starts this replica's share of the jobs whose time has come, and what another should have done 3 s ago. */
export async function tickDue(
  deps: Dependencies,
  work: Work,
  replicas: LiveReplicas,
): Promise<void> {
  const now = deps.clock.now()
  // What is under way, or fails again and again, stays due: it must not take the place of the rest.
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

/** Lets the rules look at a job whose time has come, with how its list's members are if seats are to be filled. */
async function tickJob(deps: Dependencies, id: JobId): Promise<void> {
  // Asked for before the job's turn: the chain may be slow to tell.
  const members = await membersFor(deps, await loadJob(deps, id))
  await changeJob(deps, id, async (job) => {
    const now = deps.clock.now()
    if (job.tickAt === undefined || job.tickAt > now) return undefined
    if (!needsMembers(job, now)) return { type: 'tick' }
    // Seats that have just become empty are filled at the next look.
    return members && { type: 'tick', members }
  })
}

async function membersFor(
  deps: Dependencies,
  job: Job,
): Promise<readonly MemberState[] | undefined> {
  if (!needsMembers(job, deps.clock.now())) return undefined
  return await within(
    deps.clock,
    membersMs,
    membersLate,
    memberStates(deps, job.list.members, demandOf(job)),
  )
}

const membersLate = () =>
  new SvcError('chain-unavailable', 'the state of the nodes of a list was not read in time', {
    hint: 'Look after the chain RPC and the store.',
    retryable: true,
  })
