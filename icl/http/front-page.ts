import type { Context, Hono } from 'hono'
import { accepts } from 'hono/accepts'
import { html, raw } from 'hono/html'
import { type PageName, withHeader } from '../../lib/page-header.ts'
import { cached } from '../async/cached.ts'
import type { Dependencies } from '../dependencies.ts'
import type { createProbes } from '../operations/check-health.ts'
import { type Front, leastNodes, viewFront } from '../operations/view-front.ts'
import { frontStyle } from './front-style.ts'
import type { RequestEnv, Within } from './request-env.ts'
import { pageHeaders } from './text-response.ts'
import type { Throttle } from './throttle.ts'

const frontMs = 1_000

/** The health checks of an ICL, and the pages that it shows. */
export type Shown = {
  readonly probes: ReturnType<typeof createProbes>
  readonly shown: () => readonly PageName[]
}

/**
 * Serves the first things to know of this ICL at `/`: a page that needs no script for browsers, JSON for other callers, both at most a
 * second old. Keeps search engines away from all pages. Neither is part of the API.
 */
export function serveFrontPage(
  app: Hono<RequestEnv>,
  deps: Dependencies,
  { probes, shown }: Shown,
  throttle: Throttle,
  within: Within,
): void {
  app.get('/robots.txt', (c) =>
    within(c, () => {
      throttle.arrive(c, undefined)
      return c.text('User-agent: *\nDisallow: /\n')
    }),
  )
  const front = cached(deps.clock, frontMs, () => viewFront(deps, probes))
  const answer = async (c: Context<RequestEnv>) => {
    throttle.arrive(c, undefined)
    const view = await front.read()
    const headers = { 'cache-control': 'no-store', vary: 'accept' }
    const supports = ['text/html', 'application/json']
    const type = accepts(c, { header: 'Accept', supports, default: 'application/json' })
    if (type === 'application/json') return c.json(view, 200, headers)
    return c.html(pageOf(view, shown()), 200, { ...headers, ...(await pageHeaders(frontStyle)) })
  }
  app.get('/', (c) => within(c, () => answer(c)))
}

type Html = ReturnType<typeof html>

const pageOf = (front: Front, shown: readonly PageName[]): string => {
  const { version, public_url, chain_id, nodes } = front
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Inference service</title><style>${raw(frontStyle)}</style></head>
<body><main>
<h1>Confidential inference that a quorum agrees on</h1>
<p class="lead">Three or more attested nodes run your prompt at its provider, and agree before anyone sees the answer. This service brings them together. It sees ciphertexts, sizes and times alone. Every answer has a receipt, whose hash is on chain.</p>
${state(front)}
<dl class="facts">
<div><dt>Nodes</dt><dd>${nodes ? html`${nodes.active} <small>active of ${nodes.certified}</small>` : 'unknown'}</dd></div>
<div><dt>Chain</dt><dd>${chain_id}</dd></div>
<div><dt>Version</dt><dd>${version}</dd></div>
<div><dt>Address</dt><dd><code>${public_url}</code></dd></div>
</dl>
<div class="columns">
<section aria-labelledby="models"><h2 id="models">Models</h2>${models(front)}</section>
<section aria-labelledby="cost"><h2 id="cost">The cost of a job</h2>${cost(front)}</section>
</div>
<section aria-labelledby="ask"><h2 id="ask">How to ask</h2>${commands(front)}</section>
</main><footer>This page as JSON: <code>curl ${public_url}/</code></footer></body></html>`
  return withHeader(String(page), shown, 'front')
}

const state = ({ ready, reasons }: Front): Html => {
  const [tone, words] = ready
    ? reasons.length === 0
      ? ['good', 'Up, and ready for jobs']
      : ['busy', 'Up, with restrictions']
    : ['bad', 'Not ready for jobs']
  return html`<div class="state ${tone}"><p><span aria-hidden="true">●</span> ${words}</p>${
    reasons.length > 0 ? html`<ul>${reasons.map((reason) => html`<li>${reason}</li>`)}</ul>` : ''
  }</div>`
}

const models = ({ models }: Front): Html => {
  if (models === null)
    return html`<p>The nodes cannot be counted now: the chain or the store does not respond.</p>`
  if (models.length === 0) return html`<p>No active node serves a model now.</p>`
  return html`<table><thead><tr><th scope="col">Model</th><th scope="col">Nodes</th></tr></thead><tbody>${models.map(
    ({ model_id, nodes }) =>
      html`<tr><td><code>${model_id}</code></td><td>${nodes}${
        nodes < leastNodes ? html` <small>a job needs ${leastNodes}</small>` : ''
      }</td></tr>`,
  )}</tbody></table>`
}

const payers = { client: 'You', node: 'Delivering node', icl: 'This service' } as const
const count = new Intl.NumberFormat('en')

const cost = ({ cost: { inferences, transactions } }: Front): Html => {
  const own = transactions.filter(({ payer }) => payer === 'client')
  return html`<p>You pay the gas of ${own.length} transactions, about ${count.format(own.reduce((sum, { gas }) => sum + gas, 0))}. The nodes pay ${inferences} inferences at the provider, and more if answers differ. There is no other fee.</p>
<table><thead><tr><th scope="col">Who pays</th><th scope="col">Transaction</th><th scope="col">Gas</th></tr></thead><tbody>${transactions.map(
    ({ payer, purpose, gas }) =>
      html`<tr><td>${payers[payer]}</td><td>${purpose}</td><td>${count.format(gas)}</td></tr>`,
  )}</tbody></table><p><small>Measured on a local chain. With a real coprocessor the first three cost more.</small></p>`
}

const commands = ({ ask, chain_id, client_allow_list }: Front): Html => html`
<h3>Send a prompt</h3><pre>${ask.client}</pre>
<h3>Give your OpenAI tools an address: <code>http://127.0.0.1:8787/v1</code></h3><pre>${ask.gateway}</pre>
<p>Both also take <code>SVC_RPC_URL</code> (an RPC of chain ${chain_id} that you trust) and <code>SVC_CLIENT_KEY_FILE</code> (your wallet).${
  client_allow_list ? ' Only clients that the operator named may submit jobs.' : ''
}</p>
<h3>Run a node</h3><pre>${ask.node}</pre>`
