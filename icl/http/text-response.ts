import { sha256, sha256Hex, utf8 } from '../../lib/digest.ts'
import type { Endpoint, textOf } from '../../lib/endpoint.ts'
import { endpoints } from '../../lib/endpoints.ts'
import { type PageName, pageNames, withHeader } from '../../lib/page-header.ts'
import { page, scriptHash, styleHash } from '../console/page.generated.ts'
import type { openApiDocument } from '../docs/openapi.ts'
import { renderPage } from '../docs/page.ts'
import { style } from '../docs/style.ts'
import type { Access } from '../rules/access.ts'

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

/** The pages that an ICL shows. */
export const shownPages = (access: Pick<Access, 'console'>, hasPlayground: boolean) =>
  pageNames.filter((name) =>
    name === 'console' ? access.console !== 'off' : name !== 'playground' || hasPlayground,
  )

/** Serves the page. The policy lets the browser load and run only the page's own script and style, and call only this ICL. */
export const consolePage = (shown: readonly PageName[]): Response =>
  textResponse(endpoints.getConsole, withHeader(page, shown, 'console'), {
    'content-security-policy': [
      "default-src 'none'",
      `script-src '${scriptHash}'`,
      `style-src '${styleHash}'`,
      "connect-src 'self'",
      // The page's empty icon keeps browsers from requesting one.
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  })

type GetDocument = () => ReturnType<typeof openApiDocument>

/** Serves the API reference. */
export function docsPage(
  document: GetDocument,
  shown: () => readonly PageName[],
): () => Promise<Response> {
  let page: string | undefined
  return async () => {
    page ??= withHeader(renderPage(document()), shown(), 'docs')
    return textResponse(endpoints.getDocs, page, await pageHeaders(style))
  }
}

/**
 * Serves the reference as a document. Text and ETag are made once: made for each request, they would cost 20 times the processor time, and
 * a copy for each answer that nobody reads.
 */
export function openApiText(document: GetDocument): () => Promise<Response> {
  const make = async () => {
    const text = JSON.stringify(document())
    return { text, etag: `"${await sha256Hex(utf8(text))}"` }
  }
  let made: ReturnType<typeof make> | undefined
  return async () => {
    made ??= make()
    const { text, etag } = await made
    return textResponse(endpoints.getOpenApi, text, { etag })
  }
}
