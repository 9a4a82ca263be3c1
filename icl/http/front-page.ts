import type { Context, Hono } from 'hono'
import { html, raw } from 'hono/html'
import type { PageName } from '../../lib/page-header.ts'
import type { Dependencies } from '../dependencies.ts'
import { style } from '../docs/style.ts'
import type { createProbes } from '../operations/check-health.ts'
import type { RequestEnv, Within } from './request-env.ts'
import { pageHeaders } from './text-response.ts'
import type { Throttle } from './throttle.ts'

/** The health checks of an ICL, and the pages that it shows. */
export type Shown = {
  readonly probes: ReturnType<typeof createProbes>
  readonly shown: () => readonly PageName[]
}

type Link = { readonly path: string; readonly name: string; readonly what: string }

/**
 * Serves a page with links to the other pages of this ICL, at `/` and to browsers only, and keeps search engines away from all pages.
 * Neither is part of the API.
 */
export function serveFrontPage(
  app: Hono<RequestEnv>,
  { network, access }: Pick<Dependencies, 'network' | 'access'>,
  throttle: Throttle,
  within: Within,
): void {
  app.get('/robots.txt', (c) =>
    within(c, () => {
      throttle.arrive(c, undefined)
      return c.text('User-agent: *\nDisallow: /\n')
    }),
  )
  const frontPage = async (c: Context<RequestEnv>) => {
    if (!c.req.header('accept')?.includes('text/html')) return c.notFound()
    throttle.arrive(c, undefined)
    // The playground is mounted after this page.
    const hasPlayground = app.routes.some(
      ({ method, path }) => method === 'GET' && path.startsWith('/playground'),
    )
    const links: readonly Link[] = [
      ...(hasPlayground
        ? [{ path: '/playground', name: 'Playground', what: 'Send a prompt and watch each check' }]
        : []),
      ...(access.console === 'off'
        ? []
        : [{ path: '/console', name: 'Console', what: 'Jobs, nodes and health, live' }]),
      { path: '/docs', name: 'API reference', what: 'Every operation, also as /openapi.json' },
    ]
    const headers = { 'cache-control': 'no-store', ...(await pageHeaders(style)) }
    return c.html(pageOf(network, links), 200, headers)
  }
  app.get('/', (c) => within(c, () => frontPage(c)))
}

const pageOf = (
  { version, chain_id, public_url }: Dependencies['network'],
  links: readonly Link[],
) => html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Inference coordination</title><style>${raw(style)}</style></head>
<body><header><h1>Inference coordination</h1>
<p>${public_url}, version ${version}, chain ${chain_id}</p></header>
<main>${links.map(
  ({ path, name, what }) =>
    html`<section class="op"><h3><a href="${path}">${name}</a></h3><p>${what}</p></section>`,
)}</main></body></html>`
