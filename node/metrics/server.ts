import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isLoopback } from '../../lib/ip-address.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { MetricsAddress } from './address.ts'

const requestMs = 10_000

/**
 * Serves `GET /metrics`. On loopback it refuses requests whose Host is another machine's, so that no web page reads them through a name
 * that resolves to this machine. Throws SvcError `metrics-not-served` when it cannot listen.
 */
export async function serveMetrics(
  { host, port }: MetricsAddress,
  text: () => Promise<string>,
): Promise<{ readonly url: string; readonly close: () => void }> {
  const isLocal = isLoopback(`http://${host}`)
  const server = createServer(
    { maxHeaderSize: 8_192, requestTimeout: requestMs, headersTimeout: requestMs },
    (request, response) => {
      const status = refusalOf(request, isLocal)
      if (status !== undefined) {
        response.writeHead(status).end()
        return
      }
      response.setHeader('content-type', 'text/plain; version=0.0.4; charset=utf-8')
      text().then(
        (body) => response.end(body),
        () => response.writeHead(500).end(),
      )
    },
  )
  server.timeout = requestMs
  server.maxConnections = 32
  await listening(server, host, port)
  // A failed connection must not end the node.
  server.on('error', () => {})
  const { port: taken } = server.address() as AddressInfo
  return {
    url: `http://${host}:${taken}/metrics`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

function refusalOf(
  { headers, method, url }: IncomingMessage,
  isLocal: boolean,
): number | undefined {
  const caller = `http://${headers.host ?? ''}`
  if (isLocal && !(URL.canParse(caller) && isLoopback(caller))) return 421
  if (url?.split('?')[0] !== '/metrics') return 404
  return method === 'GET' ? undefined : 405
}

const remedies: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'Another program, or another node, has this port: stop it, or choose another port by --metrics or SVC_METRICS.',
  EACCES: 'Choose a port of 1024 or above.',
}

async function listening(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host.replace(/^\[|\]$/g, ''))
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    throw new SvcError(
      'metrics-not-served',
      `the metrics cannot be served at ${host}:${port} (${code || message})`,
      { hint: remedies[code] ?? 'Correct --metrics, SVC_METRICS or `metrics`.', cause: error },
    )
  }
}
