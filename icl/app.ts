import { Hono } from 'hono'
import { toBase64Url } from '../lib/digest.ts'
import { endpoints, type OperationId } from '../lib/endpoints.ts'
import type { Dependencies } from './dependencies.ts'
import { mount } from './http/mount.ts'
import { answerProblems } from './http/problems.ts'
import { openApiDocument } from './openapi.ts'
import { createRoutes } from './routes.ts'

/** The ICL as an HTTP application: the same on every runtime. */
export function createApp(deps: Dependencies) {
  const app = new Hono<{ Variables: { requestId: string } }>()
  app.use(async (c, next) => {
    const requestId = toBase64Url(deps.random.bytes(9))
    const startedAt = deps.clock.now()
    c.set('requestId', requestId)
    await next()
    c.res.headers.set('x-request-id', requestId)
    deps.log.debug('request', {
      requestId,
      method: c.req.method,
      path: c.req.path,
      status: c.res.status,
      ms: deps.clock.now() - startedAt,
    })
  })
  const routes = createRoutes(deps)
  for (const id of Object.keys(endpoints) as OperationId[]) {
    mount(app as unknown as Hono, deps, endpoints[id], routes[id] as never)
  }
  const document = openApiDocument(deps.network.version, deps.network.public_url)
  app.get('/openapi.json', (c) => c.json(document))
  answerProblems(app, deps)
  return app
}
