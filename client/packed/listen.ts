import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { GatewayHost } from '../gateway/run-gateway.ts'

/** Serves the gateway with Node; rejects where the port cannot be had. */
export const listen: GatewayHost['listen'] = async ({ hostname, port }, answer) => {
  let pending = 0
  const handle = getRequestListener(answer, { overrideGlobalObjects: false })
  const server = createServer((incoming, outgoing) => {
    pending += 1
    outgoing.once('close', () => {
      pending -= 1
    })
    void handle(incoming, outgoing)
  })
  server.listen(port, hostname)
  await once(server, 'listening')
  const closed = new Promise<void>((resolve) => server.once('close', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    get pending() {
      return pending
    },
    stop: (cutOff) => {
      if (server.listening) server.close()
      if (cutOff) server.closeAllConnections()
      return closed
    },
  }
}
