import type { ListenAddress, Served } from './listening.ts'

const heldSeconds = 60

/** Whether a request may be silent for longer than Bun allows others to be. */
export const isHeld = ({ url }: Request): boolean => /\/events(\?|$)|[?&]wait=/.test(url)

/** Serves the application with Bun on a port of this machine; port 0 takes a free one. */
export const listen = (app: Served, { hostname, port }: ListenAddress) =>
  Bun.serve({
    hostname,
    port,
    fetch: (request, connection) => {
      // Bun ends others after 10 s.
      if (isHeld(request)) connection.timeout(request, heldSeconds)
      return app.fetch(request, { peerAddress: connection.requestIP(request)?.address })
    },
  })
