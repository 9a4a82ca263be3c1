import { sha256, sha256Hex, utf8 } from '../../lib/digest.ts'
import { endpoints } from '../../lib/endpoints.ts'
import type { openApiDocument } from '../docs/openapi.ts'
import { renderPage } from '../docs/page.ts'
import { style } from '../docs/style.ts'
import { textResponse } from './text-response.ts'

/** Serves the API reference. The policy lets the browser load and run nothing but the page's own style. */
export function docsPage(
  document: () => ReturnType<typeof openApiDocument>,
): () => Promise<Response> {
  let page: string | undefined
  return async () => {
    page ??= renderPage(document())
    const styleHash = btoa(String.fromCharCode(...(await sha256(utf8(style)))))
    return textResponse(endpoints.getDocs, page, {
      'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      'referrer-policy': 'no-referrer',
    })
  }
}

/**
 * Serves the reference as a document. Text and ETag are made once and shared: made for each request, they would cost 20 times
 * the processor time, and each answer that nobody reads a copy.
 */
export function openApiText(
  document: () => ReturnType<typeof openApiDocument>,
): () => Promise<Response> {
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
