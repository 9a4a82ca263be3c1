import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { listenHere } from '../local-server.ts'

/** A request on its way. */
type Passing = {
  readonly method: string
  /** Without its query. */
  readonly path: string
  /** Which node signed it, in lower case. */
  readonly node: string | undefined
  readonly body: string
  readonly authorization: string | undefined
}

/**
 * What happens to a request: it passes, it is lost, its answer is cut in the middle, lost (which is told once it has come) or changed
 * on the way, or the proxy answers.
 */
export type Fate =
  | 'pass'
  | 'lose-request'
  | 'cut-answer'
  | { readonly loseAnswer: () => void }
  | { readonly change: (json: Record<string, unknown>) => unknown | Promise<unknown> }
  | { readonly status: number; readonly json: unknown; readonly headers?: Record<string, string> }
  | { readonly bytes: Uint8Array }

/** What callers take for a server; a test stands between. */
export type HttpProxy = {
  readonly url: string
  /** Where the server itself listens, once it does. */
  target: string
  /** Decides on each request; passes all when undefined. */
  decide: ((request: Passing) => Fate | Promise<Fate>) | undefined
  /** Closes every connection, with whatever is on its way. */
  readonly cut: () => void
  readonly stop: () => Promise<void>
}

/** Starts a proxy on a free port. */
export async function startProxy(): Promise<HttpProxy> {
  const server = createServer((request, response) => {
    void serve(proxy, request, response).catch(() => response.destroy())
  })
  const { url, close } = await listenHere(server)
  const proxy: HttpProxy = {
    url,
    target: '',
    decide: undefined,
    cut: () => server.closeAllConnections(),
    stop: close,
  }
  return proxy
}

async function serve(proxy: HttpProxy, request: IncomingMessage, response: ServerResponse) {
  const body = await buffer(request)
  const { method = '', url: path = '', headers } = request
  const node = /keyid="svc-node:(0x[0-9a-f]{40})/.exec(String(headers['signature-input']))?.[1]
  const { authorization } = headers
  const asked = {
    method,
    path: path.replace(/\?.*/, ''),
    node,
    body: body.toString(),
    authorization,
  }
  const fate = (await proxy.decide?.(asked)) ?? 'pass'
  if (fate === 'lose-request') return response.destroy()
  if (typeof fate === 'object' && 'status' in fate) {
    response.writeHead(fate.status, { 'content-type': 'application/json', ...fate.headers })
    return response.end(JSON.stringify(fate.json))
  }
  if (typeof fate === 'object' && 'bytes' in fate) return response.end(fate.bytes)
  const url = `${proxy.target}${path}`
  const onward = send(url, { method, headers }, (answer) => void passOn(fate, answer, response))
  onward.once('error', () => response.destroy())
  response.once('close', () => onward.destroy())
  return onward.end(body)
}

async function passOn(fate: Fate, answer: IncomingMessage, response: ServerResponse) {
  const { statusCode: status = 500, headers } = answer
  if (typeof fate === 'object' && 'loseAnswer' in fate) {
    answer.resume()
    fate.loseAnswer()
    return response.destroy()
  }
  if (typeof fate === 'object' && 'change' in fate && status === 200) {
    const { 'content-length': _, ...rest } = headers
    response.writeHead(status, rest)
    const json = JSON.parse((await buffer(answer)).toString()) as Record<string, unknown>
    return response.end(JSON.stringify(await fate.change(json)))
  }
  response.writeHead(status, headers)
  if (fate === 'cut-answer') {
    const whole = await buffer(answer)
    return response.write(whole.subarray(0, whole.length / 2), () => response.destroy())
  }
  return answer.pipe(response)
}
