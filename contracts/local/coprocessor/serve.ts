import { isLoopback } from '../../../lib/ip-address.ts'
import { readLimited } from '../../../lib/read-limited.ts'
import { createAnswered } from './answered.ts'
import { decryptOutput, type OperationDeps, sealOutput, verifyInputs } from './operations.ts'
import {
  DecryptRequest,
  KeyRequest,
  maxBodyBytes,
  parseRequest,
  VerifyRequest,
} from './requests.ts'
import { ServiceError } from './service-error.ts'

/** What the coprocessor says of itself wherever it introduces itself. */
export const warning = 'FOR DEVELOPMENT ONLY: it protects nothing'

/** What is served besides the operations. */
export type ServeOptions = OperationDeps & {
  readonly host: string
  readonly port: number
  readonly publicKey: Uint8Array
  readonly crs: Uint8Array
  readonly tell: (line: string) => void
}

type Answer = (body: Uint8Array, signal: AbortSignal) => Promise<Response>

// Longer than a proof may take, waiting included.
const idleTimeoutSeconds = 240
const sealedPath = '/v2/sealoutput/'

const hexJson = (name: string, bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(`{"${name}":"0x${Buffer.from(bytes).toString('hex')}"}`))

const errorResponse = ({ status, code, message, retryAfterSeconds }: ServiceError): Response => {
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': `${retryAfterSeconds}` }
  // `error` is read by those who ask for a verification, `error_message` by those who decrypt.
  const body = { status: 'error', error: code, error_message: message, data: null }
  return Response.json(body, { status, headers })
}

const notFound = () => new ServiceError(404, 'not_found', 'there is nothing here')

const bodyOf = async (request: Request): Promise<Uint8Array> => {
  const body = await readLimited(request as Request & { body: never }, maxBodyBytes)
  if (body !== undefined) return body
  throw new ServiceError(413, 'too_large', `a request has at most ${maxBodyBytes} bytes`)
}

const routesOf = (options: ServeOptions) => {
  const sealed = createAnswered<Awaited<ReturnType<typeof sealOutput>>>()
  // Both are asked for by every client, and take long to write as hex.
  const key = (json: Uint8Array<ArrayBuffer>): Answer => {
    const headers = { 'content-type': 'application/json' }
    return async (body) => {
      parseRequest(KeyRequest, body)
      return new Response(json, { headers })
    }
  }
  const posts: Readonly<Record<string, Answer>> = {
    '/GetNetworkPublicKey': key(hexJson('publicKey', options.publicKey)),
    '/GetCrs': key(hexJson('crs', options.crs)),
    '/verify': async (body, signal) =>
      Response.json(await verifyInputs(options, parseRequest(VerifyRequest, body), signal)),
    '/v2/sealoutput': async (body, signal) => {
      const answer = await sealOutput(options, parseRequest(DecryptRequest, body), signal)
      return Response.json(sealed.keep(answer))
    },
    '/v2/decrypt': async (body, signal) =>
      Response.json(await decryptOutput(options, parseRequest(DecryptRequest, body), signal)),
  }
  const get = (path: string): Response => {
    if (path === '/') {
      const { chainId, verifier } = options
      return Response.json({ warning, chain_id: chainId, verifier: verifier.address })
    }
    const answer = path.startsWith(sealedPath)
      ? sealed.find(path.slice(sealedPath.length))
      : undefined
    if (answer === undefined) throw notFound()
    return Response.json({ ...answer, status: 'COMPLETED' })
  }
  return { posts, get }
}

/** Pages of this machine may ask, as public coprocessors let any page; those of others have nothing to look for here. */
const pageHeaders = (request: Request): Readonly<Record<string, string>> => {
  const origin = request.headers.get('origin') ?? ''
  if (!(URL.canParse(origin) && isLoopback(origin))) return {}
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-headers': 'content-type',
    'access-control-max-age': '600',
    vary: 'origin',
  }
}

const withHeaders = (response: Response, headers: Readonly<Record<string, string>>): Response => {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}

/** Serves the endpoints that the coprocessor's SDK calls. */
export const serveCoprocessor = (options: ServeOptions) => {
  const { posts, get } = routesOf(options)
  const answer = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url)
    if (request.method === 'GET') return get(pathname)
    // What a browser asks before it lets a page ask.
    if (request.method === 'OPTIONS') return new Response(null, { status: 204 })
    const post = Object.hasOwn(posts, pathname) ? posts[pathname] : undefined
    if (request.method !== 'POST' || post === undefined) throw notFound()
    return await post(await bodyOf(request), request.signal)
  }
  return Bun.serve({
    hostname: options.host,
    port: options.port,
    idleTimeout: idleTimeoutSeconds,
    fetch: async (request) => {
      const answered = await answer(request).catch((error: unknown) => {
        if (error instanceof ServiceError) return errorResponse(error)
        if (!request.signal.aborted) {
          options.tell(`internal error: ${error instanceof Error ? error.name : typeof error}`)
        }
        return errorResponse(new ServiceError(500, 'internal', 'internal error'))
      })
      return withHeaders(answered, pageHeaders(request))
    },
  })
}
