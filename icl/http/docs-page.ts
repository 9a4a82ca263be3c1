import { sha256Hex, utf8 } from '../../lib/digest.ts'
import { endpoints } from '../../lib/endpoints.ts'
import type { openApiDocument } from '../docs/openapi.ts'
import { renderPage } from '../docs/page.ts'
import { style } from '../docs/style.ts'
import { pageHeaders, textResponse } from './text-response.ts'

type GetDocument = () => ReturnType<typeof openApiDocument>

/** Serves the API reference. */
export function docsPage(document: GetDocument): () => Promise<Response> {
  let page: string | undefined
  return async () => {
    page ??= renderPage(document())
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
