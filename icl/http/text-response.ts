import type { Endpoint, textOf } from '../../lib/endpoint.ts'

/** Whether an answer may be kept: one with an ETag may, if its keeper asks each time whether it still holds. */
export const cacheControlOf = ({ hasEtag }: Endpoint): string => (hasEtag ? 'no-cache' : 'no-store')

/** An answer that is a text of the kind that its endpoint names. */
export const textResponse = (
  endpoint: Endpoint & { readonly response: ReturnType<typeof textOf> },
  text: string,
  headers: Record<string, string> = {},
): Response =>
  new Response(text, {
    headers: {
      'content-type': endpoint.response.contentType,
      'cache-control': cacheControlOf(endpoint),
      ...headers,
    },
  })
