import { z } from 'zod'
import { JobId } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { ConsoleJobDetail, ConsoleJobs } from '../../lib/schemas/console.ts'
import type { JobPhase } from '../../lib/schemas/jobs.ts'
import { publicJob, publicJobDetail } from '../console/public-job.ts'
import type { RecentJobs } from '../console/recent-jobs.ts'
import type { Dependencies } from '../dependencies.ts'
import { isSettled } from '../rules/job.ts'
import type { Position } from '../store/store.ts'

const pageSize = 100
const cursorPurpose = 'svc-console-jobs'
const Cursor = z.tuple([z.number(), JobId])

/** Returns a page of the jobs of all clients, newest first, without what concerns a client. */
export async function listConsoleJobs(
  deps: Dependencies,
  query: { readonly phase?: JobPhase | undefined; readonly cursor?: string | undefined },
): Promise<z.output<typeof ConsoleJobs>> {
  const before = await positionOf(deps, query.cursor)
  const jobs = await deps.store.listJobs({ phase: query.phase, before, limit: pageSize + 1 })
  const page = jobs.slice(0, pageSize)
  const last = page.at(-1)
  // Sealed, because the last job may still be running, and its id is then not public.
  const next = () =>
    last ? deps.keys.sealToken(cursorPurpose, [last.createdAt, last.id]) : Promise.resolve(null)
  return {
    jobs: await Promise.all(page.map((job) => publicJob(deps.keys, job))),
    next_cursor: jobs.length > pageSize ? await next() : null,
  }
}

async function positionOf(
  { keys }: Dependencies,
  cursor: string | undefined,
): Promise<Position | undefined> {
  if (cursor === undefined) return undefined
  const opened = Cursor.safeParse(await keys.openToken(cursorPurpose, cursor)).data
  if (opened) return { at: opened[0], id: opened[1] }
  throw new ProblemError('invalid-query', 'query.cursor: is not a next_cursor of this list')
}

/** Returns a job's history for the console. The name is a settled job's id, or the ref of one of the newest jobs. */
export async function viewConsoleJob(
  { store, keys }: Dependencies,
  recent: RecentJobs,
  name: string,
): Promise<ConsoleJobDetail> {
  const id = JobId.safeParse(name).data
  const found = await store.findJob(id ?? (await idOf(recent, name)))
  // The chain shows the ids of running jobs. An id must not lead to what the console shows of a running job.
  const isShown = found && (id === undefined || isSettled(found.document.phase))
  if (isShown) return publicJobDetail(keys, found.document)
  throw new ProblemError('job-not-found', `There is no job ${name} that has settled`)
}

async function idOf(recent: RecentJobs, name: string): Promise<JobId> {
  await recent.look()
  const known = recent.idOf(name)
  if (known !== undefined) return known
  throw new ProblemError('job-not-found', `None of the newest jobs has the ref ${name}`)
}
