import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A request as a test wants to see it. */
export type Seen = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** A real HTTP server on this machine. */
export type LocalServer = {
  readonly url: string
  readonly seen: Seen[]
  readonly close: () => Promise<void>
}

/** Starts a server; `answer` gets each request after its body was read. */
export async function startServer(
  answer: (response: ServerResponse, request: Seen, count: number) => void | Promise<void>,
): Promise<LocalServer> {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method = '', url: path = '', headers } = request
      seen.push({ method, path, headers, body })
      return answer(response, { method, path, headers, body }, seen.length)
    })
  })
  return { ...(await listenHere(server)), seen }
}

/** Has a server listen on a free port of this machine. */
export async function listenHere(server: Server): Promise<Omit<LocalServer, 'seen'>> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** Answers with JSON. */
export function answerJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}
