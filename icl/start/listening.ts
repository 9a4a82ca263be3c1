import { SvcError } from '../../lib/svc-error.ts'
import type { createApp } from '../app.ts'

/** The ICL's application, as a server calls it. */
export type Served = Pick<ReturnType<typeof createApp>, 'fetch'>

/** Where a server listens. Port 0 takes a free one. */
export type ListenAddress = { readonly hostname: string; readonly port: number }

/** A running server. */
export type Listening = {
  readonly url: URL
  /** Accepts no more connections and resolves once every answer has been sent. With `true` it cuts off open ones. */
  readonly stop: (cutOff?: boolean) => Promise<void>
}

/** Serves the application on a port of this machine, with the runtime's own server. */
export type Listen = (app: Served, address: ListenAddress) => Listening | Promise<Listening>

/** The response to a HEAD on a runtime that says `Content-Length: 0` for one without a body. That is not the length that GET has. */
export async function withoutLength(answered: Response | Promise<Response>): Promise<Response> {
  const response = await answered
  if (response.status === 204 || response.status === 304) return response
  const empty = new ReadableStream({
    start: (body) => {
      // Bun knows the length of a stream that has no chunk.
      body.enqueue(new Uint8Array())
      body.close()
    },
  })
  return new Response(empty, response)
}

const remedies: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'Another program has this port: stop it, or set SVC_ICL_PORT to another one. `ss -ltnp` shows which it is. If none has it, SVC_ICL_HOST is a name without an address here.',
  EACCES: 'Set SVC_ICL_PORT to 1024 or above, or give the process the right to lower ports.',
  EADDRNOTAVAIL:
    'Set SVC_ICL_HOST to an address of this machine, or to 0.0.0.0 or :: for all of them.',
}

/** Listens by `open`. Throws SvcError `listen-failed` with the cause and its remedy. */
export async function listenAt<T>(
  { hostname, port }: ListenAddress,
  open: () => T | Promise<T>,
): Promise<T> {
  try {
    return await open()
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message?: string }
    throw new SvcError(
      'listen-failed',
      `The ICL cannot listen on port ${port} of ${hostname} (${code ?? message ?? String(error)})`,
      { hint: remedies[code ?? ''] ?? 'Check SVC_ICL_HOST and SVC_ICL_PORT.', cause: error },
    )
  }
}

/** The URL of a server. */
export const urlOf = (hostname: string, port: number): URL =>
  new URL(`http://${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}/`)
