import { sha256, sha256Hex, utf8 } from '../../lib/digest.ts'
import type { Endpoint, textOf } from '../../lib/endpoint.ts'
import { endpoints } from '../../lib/endpoints.ts'
import { type PageName, pageNames, withHeader } from '../../lib/page-header.ts'
import { ProblemError } from '../../lib/problem.ts'
import { page, scriptHash, styleHash } from '../console/page.generated.ts'
import type { Dependencies } from '../dependencies.ts'
import type { openApiDocument } from '../docs/openapi.ts'
import { buildReference, renderPage } from '../docs/page.ts'
import { style } from '../docs/style.ts'
import type { Access } from '../rules/access.ts'

/** The cache-control of an endpoint: with an ETag, a cache may keep the response if it revalidates it each time. */
export const cacheControlOf = ({ hasEtag }: Endpoint): string => (hasEtag ? 'no-cache' : 'no-store')

// The empty style that Redoc's rules are put into.
const emptyStyle = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
const ofRedoc = ["script-src 'self'", "connect-src 'self'", 'img-src data:']

/** The headers of a page that may load and run nothing but its own style and, if `hasRedoc`, scripts of this ICL. */
export async function pageHeaders(
  style: string,
  hasRedoc = false,
): Promise<Record<string, string>> {
  const hash = `'sha256-${btoa(String.fromCharCode(...(await sha256(utf8(style)))))}'`
  return {
    'content-security-policy': [
      "default-src 'none'",
      `style-src ${hash}${hasRedoc ? ` ${emptyStyle}` : ''}`,
      ...(hasRedoc ? ofRedoc : []),
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'referrer-policy': 'no-referrer',
  }
}

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

/** Calls `make` at the first call, and returns what it made at each. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

const hashed = async (text: string) => ({ text, etag: `"${await sha256Hex(utf8(text))}"` })

/** Serves the API reference as a page, and the script that makes it interactive where `readScript` finds one. */
export function docsRoutes(
  document: GetDocument,
  readScript: Dependencies['readDocsScript'],
  shown: () => readonly PageName[],
) {
  const script = once(() => {
    const text = readScript?.()
    return text === undefined ? undefined : hashed(text)
  })
  const page = once(async () => {
    const hasRedoc = script() !== undefined
    const headers = await pageHeaders(style, hasRedoc)
    return { text: withHeader(renderPage(document(), hasRedoc), shown(), 'docs'), headers }
  })
  return {
    getDocs: async () => {
      const { text, headers } = await page()
      return textResponse(endpoints.getDocs, text, headers)
    },
    getDocsScript: async () => {
      const made = await script()
      if (!made)
        throw new ProblemError('not-found', `This ICL has no such script: ${buildReference}`)
      return textResponse(endpoints.getDocsScript, made.text, { etag: made.etag })
    },
  }
}

/**
 * Serves the reference as a document. Text and ETag are made once: made for each request, they would cost 20 times the processor time, and
 * a copy for each answer that nobody reads.
 */
export function openApiText(document: GetDocument): () => Promise<Response> {
  const made = once(() => hashed(JSON.stringify(document())))
  return async () => {
    const { text, etag } = await made()
    return textResponse(endpoints.getOpenApi, text, { etag })
  }
}
