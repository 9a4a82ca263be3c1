/** A request or an answer on its way, its body read. */
export type Message = { readonly headers: Headers; readonly body: Uint8Array<ArrayBuffer> }

/** A request as a server gets it; its body arrives without the streams of a runtime, whose turns differ. */
export function requestOf(
  { url, method, headers, body }: Message & { readonly url: string; readonly method: string },
  signal: AbortSignal,
): Request {
  const request = new Request(url, { method, headers })
  return Object.defineProperties(request, {
    body: { value: body.length > 0 ? bodyOf(body) : null },
    signal: { value: signal },
  })
}

/** An answer as a caller gets it. */
export function responseOf({
  status,
  headers,
  body,
}: Message & { readonly status: number }): Response {
  const response = new Response(null, { status, headers })
  return Object.defineProperties(response, {
    body: { value: bodyOf(body) },
    arrayBuffer: { value: async () => body.slice().buffer },
  })
}

const bodyOf = (bytes: Uint8Array<ArrayBuffer>) => ({
  cancel: async () => {},
  async *[Symbol.asyncIterator]() {
    yield bytes
  },
})
