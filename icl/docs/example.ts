import type { Endpoint } from '../../lib/endpoint.ts'

type Json = Readonly<Record<string, unknown>>
type Schemas = Readonly<Record<string, Json>>

/** The request that the reference shows for an operation. A body of bytes has no example. */
export type ExampleRequest = {
  readonly params: Json
  readonly query: Json
  readonly body?: unknown
}

/**
 * An example of a JSON Schema: the first of its own examples, else one made of the examples of its required parts, so that it changes
 * with the schema. Throws where a text has no example.
 */
export function exampleOf(schema: Json, schemas: Schemas): unknown {
  const of = (part: unknown) => exampleOf(part as Json, schemas)
  const { $ref, example, examples, type, properties = {}, required = [] } = schema
  if (typeof $ref === 'string') return of(schemas[$ref.slice($ref.lastIndexOf('/') + 1)])
  // Zod leaves out the `examples` of what it transforms.
  if (example !== undefined) return example
  if (Array.isArray(examples)) return examples[0]
  if ('const' in schema) return schema.const
  const [first] = [schema.enum, schema.oneOf, schema.anyOf].filter(Array.isArray)
  if (first) return Array.isArray(schema.enum) ? first[0] : of(first[0])
  if (type === 'object') {
    const parts = Object.entries(properties as Json)
    const needed = parts.filter(([name]) => (required as readonly string[]).includes(name))
    return Object.fromEntries(needed.map(([name, part]) => [name, of(part)]))
  }
  if (type === 'array') {
    if (Array.isArray(schema.prefixItems)) return schema.prefixItems.map(of)
    return Array.from({ length: Number(schema.minItems ?? 1) }, () => of(schema.items))
  }
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1
  if (type === 'boolean') return false
  throw new TypeError(
    `Give this schema an example, by meta({ examples }): ${JSON.stringify(schema)}`,
  )
}

/** A `curl` command for an example request. Where a request is signed, the signature is left out. */
export function curlOf(
  { method, path, auth, body }: Pick<Endpoint, 'method' | 'path' | 'auth' | 'body'>,
  example: ExampleRequest,
  serverUrl: string,
): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => String(example.params[name]))
  const query = String(new URLSearchParams(example.query as Record<string, string>))
  const url = `${serverUrl.replace(/\/$/, '')}${filled}${query && `?${query}`}`
  const isJson = 'body' in example
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'${url}'`,
    ...headersOf[auth].map((header) => `-H '${header}'`),
    ...(body && auth !== 'none' ? ["-H 'Content-Digest: sha-256=:...:'"] : []),
    ...(body ? [`-H 'Content-Type: application/${isJson ? 'json' : 'octet-stream'}'`] : []),
    ...(body
      ? [isJson ? `-d '${JSON.stringify(example.body, null, 2)}'` : '--data-binary @blob']
      : []),
  ]
  return lines.join(' \\\n  ')
}

const signed = (label: string) => [`Signature-Input: ${label}=...`, `Signature: ${label}=:...:`]
const token = ['Authorization: Bearer ...']
const headersOf: Readonly<Record<Endpoint['auth'], readonly string[]>> = {
  none: [],
  wallet: signed('eth'),
  client: signed('eth'),
  node: signed('node'),
  'client-or-node': signed('eth'),
  'client-or-read-token': token,
  'metrics-token': token,
  console: token,
}
