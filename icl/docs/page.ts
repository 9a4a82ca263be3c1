import { html, raw } from 'hono/html'
import type { openApiDocument } from './openapi.ts'
import { style } from './style.ts'

type Document = ReturnType<typeof openApiDocument>
type Operation = { readonly summary: string; readonly tags: readonly string[] }

/** How to get the script of the reference. */
export const buildReference = 'run `npm run build:pages` where the ICL is, and start it again'

/**
 * The API reference as a page: a list of the operations, in whose place Redoc shows the whole document. Without Redoc, or without
 * scripts in the browser, the list stays.
 */
export function renderPage({ info, paths, tags }: Document, hasRedoc: boolean): string {
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      ...(operation as Operation),
    })),
  )
  return String(html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${info.title}: API reference</title><link rel="icon" href="data:,"><style>${raw(style)}</style></head>
<body><main id="reference"><h1>${info.title}</h1>
<p>${info.summary}. Version ${info.version}. All parameters, bodies, answers and problems are in the <a href="/openapi.json">OpenAPI document</a>.</p>
${hasRedoc ? '' : html`<p>This ICL has only a list here. For the whole reference, ${buildReference}.</p>`}
${tags.map(
  (tag) =>
    html`<h2>${tag.description}</h2><ul>${routes
      .filter((route) => route.tags.includes(tag.name))
      .map(({ name, summary }) => html`<li><code>${name}</code> ${summary}</li>`)}</ul>`,
)}</main>
${hasRedoc ? raw('<script src="/docs/redoc.js"></script>') : ''}</body></html>`)
}
