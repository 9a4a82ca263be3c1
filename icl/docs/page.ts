import { html, raw } from 'hono/html'
import { type ProblemCode, problemCodes } from '../../lib/problem-codes.ts'
import type { openApiDocument } from './openapi.ts'
import { style } from './style.ts'

type Document = ReturnType<typeof openApiDocument>
type Html = ReturnType<typeof html>
type Content = Readonly<Record<string, { readonly schema?: Schema }>>
type Answer = { readonly content: Content; readonly 'x-problem-codes'?: readonly ProblemCode[] }
type Operation = {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly parameters: readonly {
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly schema: Schema
  }[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, Answer>> & { readonly 200: Answer }
}
type Route = { readonly method: string; readonly path: string; readonly operation: Operation }

/** The API reference as one page of HTML that needs no script and nothing from elsewhere. */
export function renderPage(document: Document): string {
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]): Route => ({
        method: method.toUpperCase(),
        path,
        operation: operation as Operation,
      }),
    ),
  )
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${document.info.title}: API reference</title><style>${raw(style)}</style></head>
<body><a class="skip" href="#content">Skip to the operations</a>
<div class="intro"><h1>${document.info.title}</h1>
<p>${document.info.summary}. Version ${document.info.version}, at <code>${document.servers[0]?.url ?? ''}</code>. Also as an <a href="/openapi.json">OpenAPI document</a>.</p></div>
<nav aria-label="Operations">${document.tags.map((tag) => navigation(tag.description, tagged(routes, tag.name)))}</nav>
<main id="content" tabindex="-1">${authentication(document)}
${document.tags.map(
  (tag) =>
    html`<h2 id="tag-${tag.name}">${tag.description}</h2>${tagged(routes, tag.name).map(operationSection)}`,
)}
<h2 id="schemas">Schemas</h2>${Object.entries(document.components.schemas).map(([name, schema]) => schemaSection(name, schema as Schema))}
</main></body></html>`
  return String(page)
}

const tagged = (routes: readonly Route[], tag: string): readonly Route[] =>
  routes.filter(({ operation }) => operation.tags.includes(tag))

const navigation = (title: string, routes: readonly Route[]): Html => html`
<details open><summary>${title}</summary><ul>${routes.map(
  ({ method, path, operation }) =>
    html`<li><a href="#${operation.operationId}"><code>${method} ${path}</code></a></li>`,
)}</ul></details>`

const authentication = (document: Document): Html => html`
<h2 id="authentication">Authentication and errors</h2>
<div class="wide"><table><tbody>${Object.entries(document.components.securitySchemes).map(
  ([name, scheme]) =>
    html`<tr id="auth-${name}"><th scope="row"><code>${name}</code></th><td>${scheme.description}</td></tr>`,
)}</tbody></table></div>
<p>Every error is <code>application/problem+json</code> (RFC 9457) with <code>code</code>, <code>retryable</code> and <code>request_id</code>; 429 and 503 carry <code>Retry-After</code>.
What a caller may still ask is in <code>RateLimit</code> and <code>RateLimit-Policy</code>. HEAD works wherever GET does.</p>`

const operationSection = ({ method, path, operation }: Route): Html => html`
<section class="op" id="${operation.operationId}" aria-labelledby="${operation.operationId}-title">
<h3 id="${operation.operationId}-title"><code><span class="${method}">${method}</span> ${path}</code></h3>
<p>${operation.summary}</p>
<p>Authentication: ${callers(operation)}</p>
${parameterTable(operation)}
${operation.requestBody ? html`<h4>Body</h4>${contentLines(operation.requestBody.content)}` : ''}
<h4>Answer</h4>${contentLines(operation.responses[200].content)}
<h4>Problems</h4>${problemTable(operation)}
</section>`

function callers({ security }: Operation): Html {
  const schemes = security.map((scheme) => Object.keys(scheme)[0])
  if (schemes.length === 0) return html`none`
  const links = schemes.map((name, index) => {
    const link =
      name === undefined ? html`none` : html`<a href="#auth-${name}"><code>${name}</code></a>`
    return index === 0 ? link : html` or ${link}`
  })
  return html`${links}`
}

function parameterTable({ parameters }: Operation): Html {
  if (parameters.length === 0) return html``
  return html`<h4>Parameters</h4><div class="wide"><table><thead><tr>
<th scope="col">Name</th><th scope="col">In</th><th scope="col">Value</th><th scope="col">Needed</th></tr></thead><tbody>${parameters.map(
    (parameter) =>
      html`<tr><td><code>${parameter.name}</code></td><td>${parameter.in}</td><td>${typeOf(parameter.schema)}</td><td>${
        parameter.required ? 'required' : optionalNote(parameter.schema)
      }</td></tr>`,
  )}</tbody></table></div>`
}

const contentLines = (content: Content): Html =>
  html`${Object.entries(content).map(
    ([type, { schema }]) =>
      html`<p><code>${type}</code>${schema && (schema.$ref !== undefined || schema.properties !== undefined) ? html`: ${typeOf(schema)}` : ''}</p>`,
  )}`

const problemTable = ({ responses }: Operation): Html => {
  const codes = Object.values(responses).flatMap((response) => response['x-problem-codes'] ?? [])
  return html`<div class="wide"><table><thead><tr>
<th scope="col">Status</th><th scope="col">Code</th><th scope="col">Meaning</th></tr></thead><tbody>${codes.map(
    (code) =>
      html`<tr><td>${problemCodes[code].status}</td><td><code>${code}</code></td><td>${problemCodes[code].title}${
        problemCodes[code].retryable ? ' (may pass)' : ''
      }</td></tr>`,
  )}</tbody></table></div>`
}

const schemaSection = (name: string, schema: Schema): Html => html`
<section class="schema" id="schema-${name}" aria-labelledby="schema-${name}-title"><h3 id="schema-${name}-title"><code>${name}</code></h3>
${schema.properties ? fieldTable(schema) : html`<p>${typeOf(schema)}</p>`}</section>`

/** A piece of JSON Schema as the OpenAPI document holds it. */
type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly prefixItems?: readonly Schema[]
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly [constraint: string]: unknown
}

/** What values a schema takes, in one line; named schemas are links to where they are described. */
function typeOf(schema: Schema): Html {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? ''
    return html`<a href="#schema-${name}"><code>${name}</code></a>`
  }
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`
  if (schema.enum) {
    return html`${separated(
      schema.enum.map((value) => html`<code>${JSON.stringify(value)}</code>`),
      ' | ',
    )}`
  }
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return html`${separated(choices.map(typeOf), ' | ')}`
  if (schema.items) return html`list of ${typeOf(schema.items)}${limits(schema)}`
  if (typeof schema.additionalProperties === 'object') {
    return html`map to ${typeOf(schema.additionalProperties)}`
  }
  if (schema.properties) return html`object: ${fieldTable(schema)}`
  const types = schema.type === undefined ? ['anything'] : [schema.type].flat()
  return html`${types.join(' | ')}${limits(schema)}`
}

/** The fields of an object, a row each. */
function fieldTable(schema: Schema): Html {
  const required = new Set(schema.required)
  const rows = Object.entries(schema.properties ?? {}).map(
    ([name, field]) => html`<tr>
<td><code>${name}</code></td><td>${typeOf(field)}</td><td>${
      required.has(name) ? 'required' : optionalNote(field)
    }</td></tr>`,
  )
  return html`<div class="wide"><table><thead><tr>
<th scope="col">Field</th><th scope="col">Value</th><th scope="col">Needed</th></tr></thead>
<tbody>${rows}</tbody></table></div>`
}

/** What a field means that may be left out. */
const optionalNote = ({ default: fallback }: Schema): string =>
  fallback === undefined ? 'optional' : `default ${JSON.stringify(fallback)}`

const shownConstraints = {
  minimum: 'at least',
  maximum: 'at most',
  minLength: 'at least this long:',
  maxLength: 'at most this long:',
  maxItems: 'at most',
  pattern: 'matches',
} as const

function limits(schema: Schema): Html {
  const shown = Object.entries(shownConstraints)
    .filter(([name]) => isTelling(schema[name]))
    .map(([name, words]) => html`, ${words} <code>${String(schema[name])}</code>`)
  return html`${shown}`
}

/** False for the bounds of all safe integers, which are no information. */
const isTelling = (value: unknown): boolean =>
  value !== undefined && Math.abs(Number(value)) !== Number.MAX_SAFE_INTEGER

const separated = (parts: readonly Html[], by: string): Html[] =>
  parts.map((part, index) => (index === 0 ? part : html`${by}${part}`))
