import { sha256, utf8 } from '../../lib/digest.ts'
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
