import { Hono } from 'hono'
import { getPath } from 'hono/utils/url'
import { endpoints, type OperationId } from '../lib/endpoints.ts'
import { rememberingStoredKeys } from './chain/stored-keys.ts'
import { createRefusals } from './console/refusals.ts'
import type { Dependencies } from './dependencies.ts'
import { authenticate as bySignature } from './http/authenticate.ts'
import { laterOf } from './http/connection-limit.ts'
import { serveFrontPage } from './http/front-page.ts'
import { mount, writtenOut } from './http/mount.ts'
import { answerProblems, createFailureAnswers } from './http/problems.ts'
import { createRateLimiter } from './http/rate-limit.ts'
import { requestContext } from './http/request-context.ts'
import type { RequestEnv } from './http/request-env.ts'
import { TableRouter } from './http/table-router.ts'
import { shownPages } from './http/text-response.ts'
import { createThrottle } from './http/throttle.ts'
import { createProbes } from './operations/check-health.ts'
import { createRoutes } from './routes.ts'

/**
 * Creates the ICL as an HTTP application, the same on every runtime. The runtime passes the connection's address as `peerAddress`. Only
 * the benchmark of authentication replaces `authenticate`.
 */
export function createApp(given: Dependencies, authenticate = bySignature) {
  const deps = { ...given, chain: rememberingStoredKeys(given.chain, given.clock) }
  const app = new Hono<RequestEnv>({ getPath: pathOf, router: new TableRouter(writtenOut) })
  const throttle = createThrottle(createRateLimiter(deps.clock, deps.access.rates))
  const refusals = createRefusals(deps.clock)
  const fail = createFailureAnswers(refusals)
  const within = requestContext(deps, fail)
  // Mounted after this.
  const hasPlayground = () => app.routes.some(({ path }) => path === '/playground')
  const shown = () => shownPages(deps.access, hasPlayground())
  const shared = { refusals, probes: createProbes(deps), shown }
  const routes = createRoutes(deps, shared)
  for (const id of Object.keys(endpoints) as OperationId[]) {
    mount(
      app,
      { within, throttle, authenticate, fail },
      deps,
      id,
      endpoints[id],
      routes[id] as never,
    )
  }
  serveFrontPage(app, deps, shared, throttle, within)
  // Mounted later, with handlers of its own.
  app.use('/playground/*', async (c, next) => {
    const response = await within(c, () => next().then(() => c.res))
    // Hono would add the headers of the response before to another one.
    c.res = undefined
    c.res = response
  })
  answerProblems(app, throttle, within, fail)
  const answer = app.fetch
  app.fetch = (...request) => {
    const response = answer(...request)
    return response instanceof Promise ? response.then(whole) : whole(response)
  }
  return app
}

const whole = (response: Response): Response | Promise<Response> => laterOf(response) ?? response

/** Returns the path to route by. Without a valid host header the runtime passes the path alone as the URL, which Hono would cut. */
const pathOf = (request: Request): string =>
  getPath(request.url.startsWith('/') ? new Request(`http://icl${request.url}`) : request)
