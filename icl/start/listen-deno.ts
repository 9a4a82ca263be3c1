import {
  type ListenAddress,
  type Listening,
  type Served,
  urlOf,
  withoutLength,
} from './listening.ts'

/** Without host and port where the host of the process has put another kind of socket in the place of the port. */
type NetworkAddress = { readonly hostname?: string; readonly port?: number }

/** The part of Deno's API that is used here. */
declare const Deno: {
  serve(
    options: ListenAddress & { readonly signal: AbortSignal; readonly onListen: () => void },
    answer: (
      request: Request,
      info: { readonly remoteAddr: NetworkAddress },
    ) => Response | Promise<Response>,
  ): {
    readonly addr: NetworkAddress
    readonly finished: Promise<void>
    shutdown(): Promise<void>
  }
}

/** Serves the application with Deno on a port of this machine. Port 0 takes a free one. */
export function listen(app: Served, { hostname, port }: ListenAddress): Listening {
  const cut = new AbortController()
  const server = Deno.serve(
    { hostname, port, signal: cut.signal, onListen: () => {} },
    (request, { remoteAddr }) => {
      const answered = app.fetch(request, { peerAddress: remoteAddr.hostname })
      return request.method === 'HEAD' ? withoutLength(answered) : answered
    },
  )
  let isFinished = false
  const finished = server.finished.then(() => {
    isFinished = true
  })
  return {
    url: urlOf(hostname, server.addr.port ?? port),
    stop: async (cutOff = false) => {
      // Deno fails when a stopped server is stopped again.
      if (isFinished) return
      if (cutOff) cut.abort()
      else void server.shutdown().catch(() => {})
      await finished
    },
  }
}
