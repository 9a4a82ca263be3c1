import { z } from 'zod'
import { JobId } from '../codecs.ts'
import { eventStream, get, textOf } from '../endpoint.ts'
import {
  ConsoleJobDetail,
  ConsoleJobs,
  ConsoleNodes,
  ConsoleOverview,
  JobRef,
} from '../schemas/console.ts'
import { JobPhase } from '../schemas/jobs.ts'
import { Cursor } from './parts.ts'

/** Sealed, because it holds the id of a job, which may be secret. */
const SealedCursor = z
  .string()
  .max(512)
  .regex(/^[A-Za-z0-9_.-]+$/, 'must be a next_cursor')

const problems = ['not-found', 'token-invalid'] as const

/** The operations of the console. The operator opens it to everybody, to holders of the token, or to nobody. */
export const consoleEndpoints = {
  getConsole: get('/console', 'none', {
    summary: 'The service as a live page',
    response: textOf('text/html; charset=utf-8'),
    problems: ['not-found'],
  }),
  getConsoleOverview: get('/v1/console/overview', 'console', {
    summary: 'Jobs by phase, the last hour by minute, and how chain, store and outbox are',
    response: ConsoleOverview,
    problems: [...problems],
  }),
  getConsoleNodes: get('/v1/console/nodes', 'console', {
    summary: 'Every node with a certificate, and why it cannot be drawn, 200 a page',
    query: z.object({ cursor: Cursor.optional() }),
    response: ConsoleNodes,
    problems: [...problems, 'invalid-request', 'chain-unavailable'],
  }),
  getConsoleJobs: get('/v1/console/jobs', 'console', {
    summary: 'Jobs without anything of their clients, newest first, 100 a page',
    query: z.object({ phase: JobPhase.optional(), cursor: SealedCursor.optional() }),
    response: ConsoleJobs,
    problems: [...problems, 'invalid-request'],
  }),
  getConsoleJob: get('/v1/console/jobs/{job}', 'console', {
    summary:
      'What happened to a job, by its id once it has settled, or by its ref while it is one of the newest',
    params: z.object({ job: z.union([JobRef, JobId]) }),
    response: ConsoleJobDetail,
    problems: [...problems, 'invalid-request', 'job-not-found'],
  }),
  followConsole: get('/v1/console/events', 'console', {
    summary: 'State of the ICL and changed jobs, as a stream that starts with the overview',
    response: eventStream,
    problems: [...problems],
  }),
} as const
