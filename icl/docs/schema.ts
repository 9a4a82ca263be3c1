import { html } from 'hono/html'

/** A piece of JSON Schema as the OpenAPI document holds it. */
export type Schema = {
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

type Html = ReturnType<typeof html>

/** What values a schema takes, in one line; named schemas are links to where they are described. */
export function typeOf(schema: Schema): Html {
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
export function fieldTable(schema: Schema): Html {
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
export const optionalNote = ({ default: fallback }: Schema): string =>
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
