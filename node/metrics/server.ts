import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isLoopback, isLoopbackAddress } from '../../lib/ip-address.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { MetricsAddress } from '../metrics-address.ts'

const requestMs = 10_000

/**
 * Serves `GET /metrics`. On loopback it refuses requests whose Host is another machine's, so that no web page reads them through a name
 * that resolves to this machine. Throws SvcError `metrics-not-served` when it cannot listen.
 */
export async function serveMetrics(
  { host, port }: MetricsAddress,
  text: () => Promise<string>,
): Promise<{ readonly url: string; readonly close: () => void }> {
  /** The host that callers on this machine may name besides loopback's. Undefined when other machines reach the address. */
  let ownHost: string | undefined
  const server = createServer(
    { maxHeaderSize: 8_192, requestTimeout: requestMs, headersTimeout: requestMs },
    (request, response) => {
      // Otherwise callers that wait hold all connections.
      response.setHeader('connection', 'close')
      const status = refusalOf(request, ownHost)
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
  const { address, port: taken } = server.address() as AddressInfo
  // A name may stand for loopback, too.
  if (isLoopbackAddress(address)) ownHost = host.toLowerCase()
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
  ownHost: string | undefined,
): number | undefined {
  const caller = `http://${headers.host ?? ''}`
  const isOwn = () => isLoopback(caller) || new URL(caller).hostname === ownHost
  if (ownHost !== undefined && !(URL.canParse(caller) && isOwn())) return 421
  if (url?.split('?')[0] !== '/metrics') return 404
  return method === 'GET' ? undefined : 405
}

const remedies: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'Another program, or another node, has this port: stop it, or choose another port by --metrics or SVC_METRICS.',
  EACCES: 'Choose a port of 1024 or above by --metrics or SVC_METRICS.',
  EADDRNOTAVAIL:
    'This machine does not have the address now: correct --metrics or SVC_METRICS, or see the network.',
}

/** Causes that may pass, such as a network that comes up late: systemd starts the node again. */
const passing = ['EADDRINUSE', 'EADDRNOTAVAIL', 'EAI_AGAIN']

async function listening(server: Server, host: string, port: number): Promise<void> {
  try {
    server.listen(port, host.replace(/^\[|\]$/g, ''))
    await once(server, 'listening')
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    throw new SvcError(
      'metrics-not-served',
      `the metrics cannot be served at ${host}:${port} (${code || message})`,
      {
        hint: remedies[code] ?? 'Correct --metrics, SVC_METRICS or `metrics`.',
        retryable: passing.includes(code),
        cause: error,
      },
    )
  }
}
