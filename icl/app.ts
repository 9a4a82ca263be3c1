import { Hono } from 'hono'
import { getPath } from 'hono/utils/url'
import { endpoints, type OperationId } from '../lib/endpoints.ts'
import { createRefusals } from './console/refusals.ts'
import type { Dependencies } from './dependencies.ts'
import { authenticate as bySignature } from './http/authenticate.ts'
import { serveFrontPage } from './http/front-page.ts'
import { laterOf } from './http/later.ts'
import { mount } from './http/mount.ts'
import { answerProblems, createFailureAnswers } from './http/problems.ts'
import { createRateLimiter } from './http/rate-limit.ts'
import { requestContext } from './http/request-context.ts'
import type { RequestEnv } from './http/request-env.ts'
import { checkForm } from './http/request-form.ts'
import { createThrottle } from './http/throttle.ts'
import { createRoutes } from './routes.ts'

/**
 * The ICL as an HTTP application: the same on every runtime, which passes the connection's address as `peerAddress`. What
 * authentication costs is measured by leaving it out; nothing else does.
 */
export function createApp(deps: Dependencies, authenticate = bySignature) {
  const app = new Hono<RequestEnv>({ getPath: pathOf })
  const throttle = createThrottle(createRateLimiter(deps.clock, deps.access.rates))
  app.use(requestContext(deps))
  // No answer tells of what may still be lost.
  app.use(async (c, next) => {
    const barrier = deps.store.commits.barrier()
    await next()
    await barrier().catch((error: unknown) => {
      // A stream that is not given has to end, and the headers of the answer must not be those of the problem.
      void c.res.body?.cancel()
      c.res = undefined
      throw error
    })
    // Nobody reads it: Hono makes a new response of its head.
    if (c.req.method === 'HEAD') void c.res.body?.cancel()
  })
  app.use(async (c, next) => {
    checkForm(c.req.raw)
    await next()
  })
  const refusals = createRefusals(deps.clock)
  const fail = createFailureAnswers(refusals)
  const routes = createRoutes(deps, refusals)
  for (const id of Object.keys(endpoints) as OperationId[]) {
    mount(app, { throttle, authenticate, fail }, deps, id, endpoints[id], routes[id] as never)
  }
  serveFrontPage(app, deps, throttle)
  answerProblems(app, throttle, fail)
  const answer = app.fetch
  app.fetch = (...request) => {
    const response = answer(...request)
    return response instanceof Promise ? response.then(whole) : whole(response)
  }
  return app
}

const whole = (response: Response): Response | Promise<Response> => laterOf(response) ?? response

/** The path to route by. Where a caller names no host, or none that can be one, the runtime gives the path alone, which Hono would cut. */
const pathOf = (request: Request): string =>
  getPath(request.url.startsWith('/') ? new Request(`http://icl${request.url}`) : request)
