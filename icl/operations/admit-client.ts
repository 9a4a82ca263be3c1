import type { Address, JobId } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { dayMs } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { keyOf, prefixOf } from '../records/keys.ts'
import { isSettled } from '../rules/job.ts'
import type { Write } from '../store/store.ts'

/** Throws `client-not-allowed` for a client that the operator has not admitted. */
export function checkAdmitted({ access }: Dependencies, client: Address): void {
  if (access.clients === undefined || access.clients.has(client)) return
  throw new ProblemError(
    'client-not-allowed',
    `The operator of this ICL has not admitted ${client}. Ask to be put on its list of clients`,
  )
}

const tooManyJobs = ({ limits }: Dependencies) =>
  new ProblemError(
    'too-many-jobs',
    `At most ${limits.maxJobsPerClient} jobs of a client run at once. Wait until one has settled`,
    { retryAfterSeconds: 10 },
  )

/** Throws `too-many-jobs`. Called before the requests that cost more. */
export async function checkRoom(deps: Dependencies, client: Address): Promise<void> {
  const running = await deps.store.countJobsOfClient(client, 'unsettled')
  if (running >= deps.limits.maxJobsPerClient) throw tooManyJobs(deps)
}

type KeyWrite = Extract<Write, { kind: 'key' }>

/**
 * The writes that take a client's places for a new job: one of its running jobs, and one of its jobs of today. A place is a key of the
 * store that one job holds. It is saved together with the job, so that concurrent submissions through any number of replicas cannot take
 * more. When one of the writes is refused, another job was faster, and another place may be free: call again. Throws `too-many-jobs` or
 * `quota-exceeded`.
 */
export async function placesOf(
  deps: Dependencies,
  client: Address,
  id: JobId,
  deadline: number,
): Promise<readonly KeyWrite[]> {
  return [
    await runningPlaceOf(deps, client, id, deadline),
    ...(await dailyPlaceOf(deps, client, id)),
  ]
}

async function runningPlaceOf(
  deps: Dependencies,
  client: Address,
  id: JobId,
  deadline: number,
): Promise<KeyWrite> {
  const { store, limits, clock } = deps
  const prefix = prefixOf('running', client)
  const now = clock.now()
  const held = new Map((await store.listKeys(prefix, now)).map(({ key, value }) => [key, value]))
  // A job has settled by its deadline.
  const expiresAt = deadline + 60_000
  for (let index = 0; index < limits.maxJobsPerClient; index++) {
    const key = keyOf('running', client, index)
    const insteadOf = held.get(key)
    const isFree =
      insteadOf === undefined || insteadOf === id || (await hasSettled(deps, insteadOf as JobId))
    if (isFree) return { kind: 'key', key, value: id, insteadOf, now, expiresAt }
  }
  throw tooManyJobs(deps)
}

async function hasSettled({ store }: Dependencies, id: JobId): Promise<boolean> {
  const job = (await store.findJob(id))?.document
  return job !== undefined && isSettled(job.phase)
}

async function dailyPlaceOf(
  { store, clock, access }: Dependencies,
  client: Address,
  id: JobId,
): Promise<readonly KeyWrite[]> {
  const { jobsPerDay } = access
  if (jobsPerDay === undefined) return []
  const now = clock.now()
  const day = Math.floor(now / dayMs)
  const expiresAt = (day + 1) * dayMs
  // The places are taken in order, so those of today's known jobs need not be tried.
  const first = await store.countJobsOfClient(client, { since: day * dayMs })
  for (let index = first; index < jobsPerDay; index++) {
    const key = keyOf('daily', client, day, index)
    const holder = await store.findKey(key, now)
    if (holder === undefined || holder === id)
      return [{ kind: 'key', key, value: id, now, expiresAt }]
  }
  throw new ProblemError(
    'quota-exceeded',
    `A client may have ${jobsPerDay} jobs a day. The next day begins at midnight UTC`,
    { retryAfterSeconds: Math.max(1, Math.ceil((expiresAt - now) / 1000)) },
  )
}
