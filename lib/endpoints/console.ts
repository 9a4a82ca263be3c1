import { z } from 'zod'
import { JobId } from '../codecs.ts'
import { defineEndpoint, eventStream, textOf } from '../endpoint.ts'
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
  getConsole: defineEndpoint({
    method: 'GET',
    path: '/console',
    summary: 'The service as a live page',
    auth: 'none',
    response: textOf('text/html; charset=utf-8'),
    problems: ['not-found'],
  }),
  getConsoleOverview: defineEndpoint({
    method: 'GET',
    path: '/v1/console/overview',
    summary: 'Jobs by phase, the last hour by minute, and how chain, store and outbox are',
    auth: 'console',
    response: ConsoleOverview,
    problems: [...problems],
  }),
  getConsoleNodes: defineEndpoint({
    method: 'GET',
    path: '/v1/console/nodes',
    summary: 'Every node with a certificate, and why it cannot be drawn, 200 a page',
    auth: 'console',
    query: z.object({ cursor: Cursor.optional() }),
    response: ConsoleNodes,
    problems: [...problems, 'invalid-request', 'chain-unavailable'],
  }),
  getConsoleJobs: defineEndpoint({
    method: 'GET',
    path: '/v1/console/jobs',
    summary: 'Jobs without anything of their clients, newest first, 100 a page',
    auth: 'console',
    query: z.object({ phase: JobPhase.optional(), cursor: SealedCursor.optional() }),
    response: ConsoleJobs,
    problems: [...problems, 'invalid-request'],
  }),
  getConsoleJob: defineEndpoint({
    method: 'GET',
    path: '/v1/console/jobs/{job}',
    summary:
      'What happened to a job, by its id once it has settled, or by its ref while it is one of the newest',
    auth: 'console',
    params: z.object({ job: z.union([JobRef, JobId]) }),
    response: ConsoleJobDetail,
    problems: [...problems, 'invalid-request', 'job-not-found'],
  }),
  followConsole: defineEndpoint({
    method: 'GET',
    path: '/v1/console/events',
    summary: 'State of the ICL and changed jobs, as a stream that starts with the overview',
    auth: 'console',
    response: eventStream,
    problems: [...problems],
  }),
} as const
