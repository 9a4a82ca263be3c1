import type { Context, Hono } from 'hono'
import { isCause, whatOf } from '../../lib/causes.ts'
import type { Auth, Endpoint } from '../../lib/endpoint.ts'
import { endpoints, type OperationId } from '../../lib/endpoints.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Refusals } from '../console/refusals.ts'
import type { Dependencies } from '../dependencies.ts'
import type { RequestEnv, Within } from './request-env.ts'
import type { Throttle } from './throttle.ts'

type Failed = {
  readonly deps: Pick<Dependencies, 'log' | 'store'>
  readonly requestId: string
  readonly operation: string | undefined
}

/** Returns the response to a failed request. */
export type AnswerFailure = (failed: Failed, error: unknown) => Response

/** Answers every failure as problem+json. An error that is not in the table of problems becomes a 500 without detail. */
export const createFailureAnswers =
  (refusals: Refusals): AnswerFailure =>
  (failed, error) => {
    const problem = present(failed, problemOf(error))
    const { deps, operation } = failed
    if (problem.code === 'internal-error') {
      deps.log.error('request failed', {
        operation,
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
        ...(error instanceof SvcError && { hint: error.hint }),
      })
    }
    refusals.note(problem.code)
    return problemResponse(failed, problem)
  }

const failedOf = (c: Context<RequestEnv>): Failed => ({
  deps: c.get('request').deps,
  requestId: c.get('request').requestId,
  operation: c.get('request').operation,
})

/** Returns the response to a request that failed. */
export const failureOf = (
  c: Context<RequestEnv>,
  answer: AnswerFailure,
  error: unknown,
): Response => answer(failedOf(c), isGivenUp(c, error) ? givenUp() : error)

/** Makes an application answer all failures, unknown paths and wrong methods. */
export function answerProblems(
  app: Hono<RequestEnv>,
  throttle: Throttle,
  within: Within,
  answer: AnswerFailure,
): void {
  app.onError((error, c) => failureOf(c, answer, error))
  const nothingAt = (c: Context<RequestEnv>) => {
    try {
      throttle.arrive(c, undefined)
      const allow = methodsAt(c.req.path).join(', ')
      if (allow === '') throw new ProblemError('not-found', 'There is nothing at this address')
      const problem = new ProblemError('method-not-allowed', `This address takes ${allow}`)
      return problemResponse(failedOf(c), problem, { allow })
    } catch (error) {
      return problemResponse(failedOf(c), problemOf(error))
    }
  }
  // A handler may call this within its request's context.
  app.notFound((c) =>
    c.get('request') === undefined ? within(c, () => nothingAt(c)) : nothingAt(c),
  )
}

/** True for a request that failed because its caller went away. */
const isGivenUp = (c: Context<RequestEnv>, error: unknown): boolean =>
  c.req.raw.signal.aborted && error === c.req.raw.signal.reason

/** Replaces a not-found while the database is away: the record may be there. */
const present = ({ deps }: Failed, problem: ProblemError): ProblemError =>
  problem.code.endsWith('-not-found') && deps.store.status().partial
    ? new ProblemError('unavailable', 'This may be in the database, which does not respond', {
        retryAfterSeconds: 5,
      })
    : problem

const givenUp = (): ProblemError =>
  new ProblemError('unavailable', 'The caller gave the request up before it was done')

function problemOf(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error
  if (error instanceof SvcError && error.code.startsWith('chain-')) {
    // The RPC's message may contain the operator's project or key.
    const said =
      error.cause === undefined || !isCause(error.code) ? error.message : whatOf(error.code)
    return new ProblemError('chain-unavailable', said, { retryAfterSeconds: 2 })
  }
  if (error instanceof SvcError && error.code === 'store-corrupt') {
    return new ProblemError(
      'internal-error',
      'The record in the database of the ICL cannot be read. Its operator has to restore it. The log names it.',
    )
  }
  return new ProblemError('internal-error', 'The ICL failed. Its log has the details')
}

const patterns = Object.values(endpoints).map(({ method, path }: Endpoint) => ({
  method,
  path,
  pattern: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
}))

function methodsAt(path: string): readonly string[] {
  const fitting = patterns.filter(({ pattern }) => pattern.test(path))
  // A path that the table names exactly does not match one with a parameter.
  const exact = fitting.filter((endpoint) => endpoint.path === path)
  const known = exact.length > 0 ? exact : fitting
  const methods = known.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  return [...new Set(methods)]
}

function problemResponse(
  { requestId, operation }: Failed,
  problem: ProblemError,
  more: Record<string, string> = {},
): Response {
  const headers: Record<string, string> = {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    ...more,
  }
  if (problem.status === 429 || problem.status === 503) {
    headers['retry-after'] = String(problem.retryAfterSeconds ?? 1)
  }
  if (problem.status === 401) headers['www-authenticate'] = schemesOf(operation)
  const body = JSON.stringify(problem.toProblem(requestId))
  return new Response(body, { status: problem.status, headers })
}

const bearerOnly: readonly Auth[] = ['metrics-token', 'console']

/** The authentication schemes that an operation accepts (RFC 9110, 11.6.1). */
function schemesOf(operation: string | undefined): string {
  const auth = endpoints[operation as OperationId]?.auth
  if (bearerOnly.includes(auth)) return 'Bearer'
  return auth === 'client-or-read-token' ? 'Signature, Bearer' : 'Signature'
}
