import type { Endpoint, textOf } from '../../lib/endpoint.ts'

/** An answer that is a text of the kind that its endpoint names. */
export const textResponse = (
  { response }: Endpoint & { readonly response: ReturnType<typeof textOf> },
  text: string,
  headers: Record<string, string> = {},
): Response =>
  new Response(text, {
    headers: { 'content-type': response.contentType, 'cache-control': 'no-store', ...headers },
  })
