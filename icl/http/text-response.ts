import type { Endpoint, textOf } from '../../lib/endpoint.ts'

/** The cache-control of an endpoint: with an ETag, a cache may keep the response if it revalidates it each time. */
export const cacheControlOf = ({ hasEtag }: Endpoint): string => (hasEtag ? 'no-cache' : 'no-store')

/** A text response with the content type of its endpoint. */
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
