import type { Context, ErrorHandler, Hono, NotFoundHandler } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { endpoints } from '../../lib/endpoints.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Dependencies } from '../dependencies.ts'

type RequestEnv = { Variables: { requestId: string } }

/** Answers every failure as problem+json; what is not a problem of the table becomes a 500 without detail. */
export function answerProblems(app: Hono<RequestEnv>, deps: Dependencies): void {
  const onError: ErrorHandler<RequestEnv> = (error, c) => {
    const problem = problemOf(error)
    if (problem.code === 'internal-error') {
      deps.log.error('request failed', {
        requestId: c.get('requestId'),
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      })
    }
    return problemResponse(c, problem)
  }
  const notFound: NotFoundHandler<RequestEnv> = (c) => problemResponse(c, missing(c.req.path))
  app.onError(onError)
  app.notFound(notFound)
}

function problemOf(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error
  if (error instanceof SvcError && error.code.startsWith('chain-')) {
    return new ProblemError('chain-unavailable', error.message, { retryAfterSeconds: 2 })
  }
  return new ProblemError('internal-error', 'The ICL failed; its log has the details')
}

/** An address that exists with another method is told from one that does not exist. */
function missing(path: string): ProblemError {
  const known = Object.values(endpoints).filter((endpoint) =>
    new RegExp(`^${endpoint.path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
  if (known.length === 0) return new ProblemError('not-found', `There is nothing at ${path}`)
  const methods = known.map(({ method }) => method).join(', ')
  return new ProblemError('method-not-allowed', `This address takes ${methods}`)
}

function problemResponse(c: Context<RequestEnv>, problem: ProblemError): Response {
  const headers: Record<string, string> = {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
  }
  if (problem.status === 429 || problem.status === 503) {
    headers['retry-after'] = String(problem.retryAfterSeconds ?? 1)
  }
  const body = problem.toProblem(c.get('requestId'))
  return c.body(JSON.stringify(body), problem.status as ContentfulStatusCode, headers)
}
