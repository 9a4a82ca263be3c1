import type { Address, JobId } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { dayMs } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { isSettled } from '../rules/job.ts'
import { claimKey } from '../store/claim-key.ts'

/** Throws `client-not-allowed` for a client that the operator has not admitted. */
export function checkAdmitted({ access }: Dependencies, client: Address): void {
  if (access.clients === undefined || access.clients.has(client)) return
  throw new ProblemError(
    'client-not-allowed',
    `The operator of this ICL has not admitted ${client}; ask to be put on its list of clients`,
  )
}

const tooManyJobs = ({ limits }: Dependencies) =>
  new ProblemError(
    'too-many-jobs',
    `At most ${limits.maxJobsPerClient} jobs of a client run at once; wait until one has settled`,
    { retryAfterSeconds: 10 },
  )

/** Throws `too-many-jobs` before anything that costs more is asked. */
export async function checkRoom(deps: Dependencies, client: Address): Promise<void> {
  const running = await deps.store.countUnsettledJobsOfClient(client)
  if (running >= deps.limits.maxJobsPerClient) throw tooManyJobs(deps)
}

/**
 * Takes one of a client's places for a new job: one of those at the same time, and one of today's. Each place is a key of the store
 * that one job holds, so that many submissions at once, through any number of replicas, cannot take more. Throws
 * `too-many-jobs` or `quota-exceeded`; the function that it returns gives both back, for a job that was not saved after all.
 */
export async function takeQuota(
  deps: Dependencies,
  client: Address,
  id: JobId,
  deadline: number,
): Promise<() => Promise<void>> {
  const { store } = deps
  const release = async (key: string | undefined) => {
    if (key !== undefined) await store.save({ kind: 'release-key', key, value: id })
  }
  const running = await takeRunningQuota(deps, client, id, deadline)
  try {
    const daily = await takeDailyQuota(deps, client, id)
    return async () => {
      await Promise.all([release(running), release(daily)])
    }
  } catch (error) {
    await release(running)
    throw error
  }
}

async function takeRunningQuota(
  deps: Dependencies,
  client: Address,
  id: JobId,
  deadline: number,
): Promise<string> {
  const { store, limits, clock } = deps
  const prefix = `running:${client}:`
  const held = new Map(
    (await store.listKeys(prefix, clock.now())).map(({ key, value }) => [key, value]),
  )
  for (let index = 0; index < limits.maxJobsPerClient; index++) {
    const key = `${prefix}${index}`
    const holder = held.get(key)
    if (holder !== undefined && holder !== id && (await hasSettled(deps, holder as JobId))) {
      await store.save({ kind: 'release-key', key, value: holder })
    } else if (holder !== undefined && holder !== id) continue
    // By its deadline a job has settled; a place whose taker died in between is free then, too.
    const expiresAt = deadline + 60_000
    if (await store.save({ kind: 'key', key, value: id, now: clock.now(), expiresAt })) return key
  }
  throw tooManyJobs(deps)
}

async function hasSettled({ store }: Dependencies, id: JobId): Promise<boolean> {
  const job = (await store.findJob(id))?.document
  return job !== undefined && isSettled(job.phase)
}

async function takeDailyQuota(
  deps: Dependencies,
  client: Address,
  id: JobId,
): Promise<string | undefined> {
  const { jobsPerDay } = deps.access
  if (jobsPerDay === undefined) return undefined
  const now = deps.clock.now()
  const day = Math.floor(now / dayMs)
  const tomorrow = (day + 1) * dayMs
  // The places are taken in order: those of the jobs that are there already need not be tried.
  for (
    let index = await deps.store.countJobsOfClient(client, day * dayMs);
    index < jobsPerDay;
    index++
  ) {
    const key = `daily:${client}:${day}:${index}`
    if ((await claimKey(deps, key, id, tomorrow)) === id) return key
  }
  throw new ProblemError(
    'quota-exceeded',
    `A client may have ${jobsPerDay} jobs a day; the next day begins at midnight UTC`,
    { retryAfterSeconds: Math.max(1, Math.ceil((tomorrow - now) / 1000)) },
  )
}
