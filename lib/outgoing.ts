import { readLimited } from './read-limited.ts'

/*
 * The one way out of the process. A server may send a small body that unpacks to gigabytes, a body that has no end, or a redirect into the
 * caller's own network. So each request asks for an answer that is not packed. A packed answer is refused by its header, before it is read.
 * No redirect is followed. A body is read up to a limit, and each request has a signal that ends it. A browser drops the header that asks,
 * and unpacks by itself: there the limit holds for what was unpacked.
 */

/** Sends one request; `systemFetch` is the runtime's own. Only `openAnswer` and what wraps a fetch call one. */
export type Fetch = (request: Request) => Promise<Response>

/** A request. Its signal has to carry a deadline. */
export type Outgoing = Omit<RequestInit, 'redirect' | 'signal'> & { readonly signal: AbortSignal }

/** An answer that was read whole. */
export type Answer = Pick<Response, 'status' | 'ok' | 'headers'> & {
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** An answer that is not read, or not to its end. The message follows the server's name, as `redirects elsewhere` does. */
export class AnswerRefused extends Error {
  readonly kind: 'packed' | 'redirect' | 'too-large'

  constructor(kind: AnswerRefused['kind'], why: string) {
    super(why)
    this.kind = kind
  }
}

/** Sends a request and reads at most `maxBytes` of its answer. Throws AnswerRefused. */
export async function ask(
  fetch: Fetch,
  url: string | URL,
  { maxBytes, ...outgoing }: Outgoing & { readonly maxBytes: number },
): Promise<Answer> {
  const response = await openAnswer(fetch, url, outgoing)
  const { status, ok, headers } = response
  return { status, ok, headers, bytes: await readAnswer(response, maxBytes) }
}

/** Sends a request and returns its answer before the body, which has no limit of its own. Throws AnswerRefused. */
export async function openAnswer(
  fetch: Fetch,
  url: string | URL,
  outgoing: Outgoing,
): Promise<Response> {
  const headers = new Headers(outgoing.headers)
  headers.set('accept-encoding', 'identity')
  // A key, a prompt or a signature is for this server, and follows no redirect. Edge hosts have no `error` here.
  const request = new Request(url, { ...outgoing, headers, redirect: 'manual' })
  const response = await fetch(request)
  const refused = refusalOf(response, request.headers.has('accept-encoding'))
  if (refused === undefined) return response
  // Not awaited: Node's need not end.
  response.body?.cancel().catch(() => {})
  throw refused
}

/** Reads the body of an answer, all of it by default. Throws AnswerRefused `too-large` when that has more than `maxBytes`. */
export async function readAnswer(
  response: Response,
  maxBytes: number,
  read: (
    response: Response,
    maxBytes: number,
  ) => Promise<Uint8Array<ArrayBuffer> | undefined> = readWhole,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await read(response, maxBytes)
  if (bytes !== undefined) return bytes
  throw new AnswerRefused('too-large', `sent more than ${maxBytes} bytes`)
}

async function readWhole(response: Response, maxBytes: number) {
  const announced = Number(response.headers.get('content-length') ?? 0)
  if (!(announced > maxBytes)) return await readLimited(response, maxBytes)
  response.body?.cancel().catch(() => {})
  return undefined
}

function refusalOf(
  { type, status, headers }: Response,
  hasAsked: boolean,
): AnswerRefused | undefined {
  // Browsers hide the status.
  if (type === 'opaqueredirect') return new AnswerRefused('redirect', 'redirects elsewhere')
  if (status >= 300 && status < 400) {
    return new AnswerRefused('redirect', `redirects elsewhere (status ${status})`)
  }
  const packing = headers.get('content-encoding')?.trim().toLowerCase() ?? 'identity'
  if (!hasAsked || packing === 'identity') return undefined
  const named = /^[\w, -]{1,40}$/.test(packing) ? packing : 'an unknown encoding'
  return new AnswerRefused('packed', `packed its answer (${named}), although it was asked not to`)
}
