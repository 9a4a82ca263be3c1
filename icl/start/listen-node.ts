import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { maxHeaderBytes } from '../../lib/endpoints.ts'
import { type ListenAddress, type Listening, type Served, urlOf } from './listening.ts'

const requestMs = 60_000
const idleMs = 10_000

/** Serves the application with Node on a port of this machine. Port 0 takes a free one. Closes connections silent for `silentMs`. */
export async function listen(
  app: Served,
  { hostname, port }: ListenAddress,
  silentMs = 60_000,
): Promise<Listening> {
  const answer = getRequestListener(
    (request, { incoming }) =>
      app.fetch(request, { peerAddress: (incoming as IncomingMessage).socket.remoteAddress }),
    { overrideGlobalObjects: false },
  )
  const server = createServer(
    // Headers slightly over the limit still reach the application, which refuses them with a reason.
    { maxHeaderSize: 2 * maxHeaderBytes, requestTimeout: requestMs, keepAliveTimeout: idleMs },
    (incoming, outgoing) => {
      // A caller may name any host, even an invalid one. The application ignores the host.
      incoming.headers.host = 'icl'
      // During a stop, a connection would otherwise stay open for its idle time after its last answer.
      outgoing.once('close', () =>
        setImmediate(() => {
          if (!server.listening) server.closeIdleConnections()
        }),
      )
      void answer(incoming, outgoing)
    },
  )
  // Longer than any held request is silent. Without it, an answer that the caller does not read would be kept for ever.
  server.timeout = silentMs
  server.listen(port, hostname)
  await once(server, 'listening')
  const { port: taken } = server.address() as AddressInfo
  const closed = new Promise<void>((resolve) => server.once('close', resolve))
  return {
    url: urlOf(hostname, taken),
    stop: (cutOff = false) => {
      if (server.listening) server.close()
      if (cutOff) server.closeAllConnections()
      return closed
    },
  }
}
