import { sha256, utf8 } from '../../lib/digest.ts'
import type { Endpoint, textOf } from '../../lib/endpoint.ts'

/** The cache-control of an endpoint: with an ETag, a cache may keep the response if it revalidates it each time. */
export const cacheControlOf = ({ hasEtag }: Endpoint): string => (hasEtag ? 'no-cache' : 'no-store')

/** The headers of a page that may load and run nothing but its own style. */
export const pageHeaders = async (style: string) => ({
  'content-security-policy': `default-src 'none'; style-src 'sha256-${btoa(String.fromCharCode(...(await sha256(utf8(style)))))}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
})

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
