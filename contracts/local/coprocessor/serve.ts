import { Hono } from 'hono'
import { cors } from 'hono/cors'
import type { z } from 'zod'
import { isLoopback } from '../../../lib/ip-address.ts'
import { readLimited } from '../../../lib/read-limited.ts'
import { decryptOutput, type OperationDeps, sealOutput, verifyInputs } from './operations.ts'
import {
  DecryptRequest,
  KeyRequest,
  maxBodyBytes,
  parseRequest,
  VerifyRequest,
} from './requests.ts'
import { ServiceError } from './service-error.ts'

/** The warning that the coprocessor gives wherever it introduces itself. */
export const warning = 'FOR DEVELOPMENT ONLY: it protects nothing'

/** The options of the server, besides those of the operations. */
export type ServeOptions = OperationDeps & {
  readonly host: string
  readonly port: number
  readonly publicKey: Uint8Array
  readonly crs: Uint8Array
  readonly tell: (line: string) => void
}

// Longer than a proof may take, including the wait for it.
const idleTimeoutSeconds = 240
const maxKept = 256

const hexJson = (name: string, bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(`{"${name}":"0x${Buffer.from(bytes).toString('hex')}"}`))

const errorResponse = ({ status, code, message, retryAfterSeconds }: ServiceError): Response => {
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': `${retryAfterSeconds}` }
  // Clients that verify read `error`, clients that decrypt read `error_message`.
  const body = { status: 'error', error: code, error_message: message, data: null }
  return Response.json(body, { status, headers })
}

const notFound = () => errorResponse(new ServiceError(404, 'not_found', 'there is nothing here'))

/** Parses a request's body. Throws ServiceError 413 or 400. */
const asked = async <T extends z.ZodType>(schema: T, request: Request): Promise<z.output<T>> => {
  const body = await readLimited(request as Request & { body: never }, maxBodyBytes)
  if (body !== undefined) return parseRequest(schema, body)
  throw new ServiceError(413, 'too_large', `a request has at most ${maxBodyBytes} bytes`)
}

const createApp = (options: ServeOptions): Hono => {
  const { chainId, verifier, tell } = options
  /** The last sealed answers, for clients that fetch one by its id. */
  const sealed = new Map<string, Awaited<ReturnType<typeof sealOutput>>>()
  const app = new Hono()
  // Public coprocessors serve any page. This one serves only pages of this machine.
  const origin = (from: string) => (URL.canParse(from) && isLoopback(from) ? from : null)
  app.use(cors({ origin, allowHeaders: ['content-type'], allowMethods: [], maxAge: 600 }))
  app.get('/', ({ json }) => json({ warning, chain_id: chainId, verifier: verifier.address }))
  // Rendered once: every client asks for both, and the hex takes long.
  const serveKey = (path: string, key: Uint8Array<ArrayBuffer>) =>
    app.post(path, async ({ req, body }) => {
      await asked(KeyRequest, req.raw)
      return body(key, { headers: { 'content-type': 'application/json' } })
    })
  serveKey('/GetNetworkPublicKey', hexJson('publicKey', options.publicKey))
  serveKey('/GetCrs', hexJson('crs', options.crs))
  app.post('/verify', async ({ req, json }) =>
    json(await verifyInputs(options, await asked(VerifyRequest, req.raw), req.raw.signal)),
  )
  app.post('/v2/sealoutput', async ({ req, json }) => {
    const request = await asked(DecryptRequest, req.raw)
    const answer = await sealOutput(options, request, req.raw.signal)
    sealed.set(answer.request_id, answer)
    const [oldest] = sealed.keys()
    if (sealed.size > maxKept && oldest !== undefined) sealed.delete(oldest)
    return json(answer)
  })
  app.get('/v2/sealoutput/:id', ({ req, json }) => {
    const answer = sealed.get(req.param('id'))
    return answer === undefined ? notFound() : json({ ...answer, status: 'COMPLETED' })
  })
  app.post('/v2/decrypt', async ({ req, json }) =>
    json(await decryptOutput(options, await asked(DecryptRequest, req.raw), req.raw.signal)),
  )
  app.notFound(notFound)
  app.onError((error, { req }) => {
    if (error instanceof ServiceError) return errorResponse(error)
    if (!req.raw.signal.aborted) tell(`internal error: ${error.name}`)
    return errorResponse(new ServiceError(500, 'internal', 'internal error'))
  })
  return app
}

/** Serves the endpoints that the coprocessor's SDK calls. */
export const serveCoprocessor = (options: ServeOptions) =>
  Bun.serve({
    hostname: options.host,
    port: options.port,
    idleTimeout: idleTimeoutSeconds,
    fetch: createApp(options).fetch,
  })
