import { type ListenAddress, type Served, withoutLength } from './listening.ts'

const silentSeconds = 60

/** Whether a request may be silent for longer than Bun's idle time. */
export const isHeld = ({ url }: Request): boolean => /\/events(\?|$)|[?&]wait=/.test(url)

/** Serves the application with Bun on a port of this machine. Port 0 takes a free one. */
export const listen = (app: Served, { hostname, port }: ListenAddress, idleSeconds = 10) =>
  Bun.serve({
    hostname,
    port,
    idleTimeout: idleSeconds,
    fetch: (request, connection) => {
      // Bun closes a connection after its idle time, even while a body arrives.
      const mayBringBody = request.method !== 'GET' && request.method !== 'HEAD'
      if (mayBringBody || isHeld(request)) connection.timeout(request, silentSeconds)
      const answered = app.fetch(request, { peerAddress: connection.requestIP(request)?.address })
      return request.method === 'HEAD' ? withoutLength(answered) : answered
    },
  })
