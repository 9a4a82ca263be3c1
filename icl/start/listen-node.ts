import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { maxHeaderBytes } from '../../lib/endpoints.ts'
import type { ListenAddress, Listening, Served } from './listening.ts'

const requestMs = 60_000
const idleMs = 10_000

/** Serves the application with Node on a port of this machine; port 0 takes a free one. Ends connections on which nothing moves for `silentMs`. */
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
    // What is too large by a little is refused by the application, which says why.
    { maxHeaderSize: 2 * maxHeaderBytes, requestTimeout: requestMs, keepAliveTimeout: idleMs },
    (incoming, outgoing) => {
      // A caller may name any host, or none that can be one: what an address says of it counts for nothing here.
      incoming.headers.host = 'icl'
      // A connection whose last answer has been sent would hold up a stop for as long as it may be idle.
      outgoing.once('close', () =>
        setImmediate(() => {
          if (!server.listening) server.closeIdleConnections()
        }),
      )
      void answer(incoming, outgoing)
    },
  )
  // Longer than anything that is held is silent: otherwise an answer that nobody reads is kept for ever.
  server.timeout = silentMs
  server.listen(port, hostname)
  await once(server, 'listening')
  const { port: taken } = server.address() as AddressInfo
  const closed = new Promise<void>((resolve) => server.once('close', resolve))
  return {
    url: new URL(`http://${hostname.includes(':') ? `[${hostname}]` : hostname}:${taken}/`),
    stop: (cutOff = false) => {
      if (server.listening) server.close()
      if (cutOff) server.closeAllConnections()
      return closed
    },
  }
}
