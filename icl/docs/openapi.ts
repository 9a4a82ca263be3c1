import { z } from 'zod'
import { type Auth, type Endpoint, eventStream, rawBytes } from '../../lib/endpoint.ts'
import { commonProblems as anyProblems, endpoints } from '../../lib/endpoints.ts'
import { Problem } from '../../lib/problem.ts'
import { type ProblemCode, problemCodes } from '../../lib/problem-codes.ts'
import { curlOf, type ExampleRequest, exampleOf } from './example.ts'

type Json = Record<string, unknown>

/** Renders the endpoint table as an OpenAPI 3.1 document, whose schemas are JSON Schema 2020-12. */
export function openApiDocument(version: string, serverUrl: string) {
  const schemas: Record<string, Json> = {}
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [operationId, endpoint] of Object.entries(endpoints) as [string, Endpoint][]) {
    const path = paths[endpoint.path] ?? {}
    paths[endpoint.path] = path
    path[endpoint.method.toLowerCase()] = operation(operationId, endpoint, schemas, serverUrl)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Inference coordination service',
      summary: 'Confidential LLM inference, agreed on by a quorum of attested nodes',
      description: about,
      version,
    },
    servers: [{ url: serverUrl }],
    tags: [
      { name: 'service', description: 'The service itself' },
      { name: 'console', description: 'What the console shows' },
      { name: 'nodes', description: 'The pool of nodes' },
      { name: 'inference', description: 'Jobs, for their clients' },
      { name: 'blobs', description: 'Encrypted prompts and outputs' },
      { name: 'node', description: 'What nodes call' },
    ],
    paths,
    components: { schemas, securitySchemes, responses: { CommonProblem: commonProblem(schemas) } },
  }
}

// 413 and 415 come from operations with a body alone.
const commonProblems = [
  ...anyProblems,
  ...(['body-too-large', 'unsupported-media-type'] as const),
].sort((a, b) => problemCodes[a].status - problemCodes[b].status)

const about = `Every error is \`application/problem+json\` (RFC 9457) with \`code\`, \`retryable\` and \`request_id\`.
An operation lists the problems of its own. Under \`default\` each also has these:

${commonProblems.map((code) => `- ${problemCodes[code].status} \`${code}\`: ${problemCodes[code].title}`).join('\n')}

\`RateLimit\` and \`RateLimit-Policy\` say how much a caller may still ask. HEAD works wherever GET does.

The examples show the form of a request. A real one has values and signatures of its own.
`

const securitySchemes = {
  wallet: {
    type: 'apiKey',
    in: 'header',
    name: 'Signature',
    description: 'RFC 9421 HTTP Message Signature by an Ethereum account (ERC-8128), label "eth"',
  },
  node: {
    type: 'apiKey',
    in: 'header',
    name: 'Signature',
    description:
      'RFC 9421 HTTP Message Signature by the request key (hmac-sha256) or the attested Ed25519 key of a session, label "node"',
  },
  metricsToken: {
    type: 'http',
    scheme: 'bearer',
    description:
      "The operator's token (SVC_ICL_METRICS_TOKEN): for metrics if there is one, for the console with SVC_ICL_CONSOLE=token",
  },
  readToken: { type: 'http', scheme: 'bearer', description: 'The read_token of a submission' },
}

const securityOf: Record<Auth, readonly Json[]> = {
  none: [],
  wallet: [{ wallet: [] }],
  client: [{ wallet: [] }],
  node: [{ node: [] }],
  'client-or-node': [{ wallet: [] }, { node: [] }],
  'client-or-read-token': [{ readToken: [] }, { wallet: [] }],
  'metrics-token': [{ metricsToken: [] }, {}],
  console: [{ metricsToken: [] }, {}],
}

function tagOf(path: string): string {
  if (path.startsWith('/internal')) return 'node'
  if (path === '/console' || path.startsWith('/v1/console')) return 'console'
  if (path.startsWith('/v1/inference')) return 'inference'
  if (path.startsWith('/v1/nodes') || path === '/v1/models') return 'nodes'
  return path.startsWith('/v1/blobs') || path.startsWith('/ipfs') ? 'blobs' : 'service'
}

function operation(
  operationId: string,
  endpoint: Endpoint,
  schemas: Record<string, Json>,
  serverUrl: string,
): Json {
  const example = exampleRequest(endpoint, schemas)
  return {
    operationId,
    summary: endpoint.summary,
    tags: [tagOf(endpoint.path)],
    security: securityOf[endpoint.auth],
    parameters: [...parameters(endpoint, schemas, example), ...headerParameters(endpoint)],
    'x-codeSamples': [{ lang: 'curl', source: curlOf(endpoint, example, serverUrl) }],
    ...(endpoint.body && {
      requestBody: { required: true, content: bodyContent(endpoint.body, schemas, example) },
    }),
    responses: {
      200: {
        description: 'Done',
        headers: {
          'X-Request-Id': requestId,
          ...rateHeaders,
          ...(endpoint.hasEtag && { ETag: etag }),
        },
        content: isJobStream(endpoint)
          ? { 'text/event-stream': { schema: jobStream } }
          : content(endpoint.response, schemas),
      },
      ...(isJobStream(endpoint) && {
        204: { description: 'The job has no event after the last one' },
      }),
      ...(endpoint.hasEtag && { 304: { description: 'The caller has this answer' } }),
      ...problemResponses(endpoint, schemas),
    },
  }
}

const text = { type: 'string' }
const etag = { description: 'What If-None-Match names this answer by', schema: text }
const requestId = { description: 'What the log calls this request', schema: text }
const rateHeaders = {
  'RateLimit-Policy': { description: 'A limit: q requests in w seconds', schema: text },
  RateLimit: { description: 'What it leaves: r requests, whole again in t seconds', schema: text },
}
const retryAfter = {
  'Retry-After': {
    description: 'With 429 and 503: when to try again, in seconds',
    schema: { type: 'integer', minimum: 0 },
  },
}
const statusHeaders: Readonly<Record<number, Json>> = {
  401: { 'WWW-Authenticate': { description: 'How to authenticate', schema: text } },
  405: { Allow: { description: 'The methods that the address takes', schema: text } },
  429: { ...retryAfter, ...rateHeaders },
  503: retryAfter,
}

// Version 3.1 can say no more of the events of a stream.
const jobStream = {
  type: 'string',
  description:
    'Events named `job`. `id` is its `seq`, `data` a JobEvent (components/schemas/JobEvent)',
}

const isJobStream = (endpoint: Endpoint): boolean => endpoint === endpoints.followJob

/** Headers that mean something besides what is signed. */
function headerParameters(endpoint: Endpoint): Json[] {
  const { auth, body, hasEtag } = endpoint
  const isSigned = auth !== 'none' && auth !== 'metrics-token' && auth !== 'console'
  const header = (isUsed: unknown, name: string, description: string) =>
    isUsed ? [{ name, in: 'header', required: false, description, schema: text }] : []
  return [
    ...header(
      isJobStream(endpoint),
      'Last-Event-ID',
      'The last event that the caller has: those after it follow',
    ),
    ...header(hasEtag, 'If-None-Match', 'The ETag of the answer that the caller has'),
    ...header(isSigned, 'Signature-Input', 'RFC 9421: what the signature covers'),
    ...header(auth !== 'none' && body, 'Content-Digest', 'RFC 9530: a sha-256 of the body'),
  ]
}

/** The request that the reference shows for an operation, made of the examples of its schemas. */
export function exampleRequest(endpoint: Endpoint, schemas: Record<string, Json>): ExampleRequest {
  const { params, query, body } = endpoint
  const of = (type: z.ZodType | undefined) => type && exampleOf(schemaOf(type, schemas), schemas)
  return {
    params: (of(params) ?? {}) as Json,
    query: (of(query) ?? {}) as Json,
    ...(body && body !== rawBytes && { body: of(body as z.ZodType) }),
  }
}

const bodyContent = (
  body: NonNullable<Endpoint['body']>,
  schemas: Record<string, Json>,
  example: ExampleRequest,
): Json =>
  body === rawBytes
    ? content(body, schemas)
    : {
        'application/json': {
          schema: schemaOf(body as z.ZodType, schemas),
          examples: { request: { value: example.body } },
        },
      }

function parameters(
  endpoint: Endpoint,
  schemas: Record<string, Json>,
  example: ExampleRequest,
): Json[] {
  const list = (location: 'path' | 'query', object: z.ZodObject | undefined, examples: Json) =>
    Object.entries(object?.shape ?? {}).map(([name, type]) => ({
      name,
      in: location,
      required: location === 'path' || !z.safeParse(type as z.ZodType, undefined).success,
      schema: schemaOf(type as z.ZodType, schemas),
      ...(name in examples && { example: examples[name] }),
    }))
  return [
    ...list('path', endpoint.params, example.params),
    ...list('query', endpoint.query, example.query),
  ]
}

function content(body: Endpoint['response'], schemas: Record<string, Json>): Json {
  if (body === rawBytes) return { 'application/octet-stream': {} }
  if (body === eventStream) return { 'text/event-stream': { schema: { type: 'string' } } }
  if ('kind' in body && body.kind === 'text') {
    const isJson = body.contentType === 'application/json'
    return { [body.contentType]: { schema: { type: isJson ? 'object' : 'string' } } }
  }
  return { 'application/json': { schema: schemaOf(body as z.ZodType, schemas) } }
}

const isCommon = (code: ProblemCode): boolean => commonProblems.some((one) => one === code)

/** The problems that an operation lists: all but the common ones, with `unavailable` where it means something of its own. */
const ownProblems = ({ problems, isUnavailable }: Endpoint): readonly ProblemCode[] => [
  ...problems.filter((code) => code === 'unavailable' || !isCommon(code)),
  ...(isUnavailable ? (['unavailable'] as const) : []),
]

const commonProblem = (schemas: Record<string, Json>): Json => ({
  description: 'A problem that every operation can have: the introduction lists them',
  'x-problem-codes': commonProblems,
  headers: { 'X-Request-Id': requestId, ...rateHeaders, ...retryAfter },
  content: { 'application/problem+json': { schema: schemaOf(Problem, schemas) } },
})

function problemResponses(endpoint: Endpoint, schemas: Record<string, Json>): Json {
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of ownProblems(endpoint)) {
    const { status } = problemCodes[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const own = [...byStatus].map(([status, codes]) => [
    status,
    {
      description: codes.map((code) => `${code}: ${problemCodes[code].title}`).join('. '),
      'x-problem-codes': codes,
      headers: { 'X-Request-Id': requestId, ...statusHeaders[status] },
      content: {
        ...(status === 503 && endpoint.isUnavailable && content(endpoint.response, schemas)),
        'application/problem+json': { schema: schemaOf(Problem, schemas) },
      },
    },
  ])
  return {
    ...Object.fromEntries(own),
    default: { $ref: '#/components/responses/CommonProblem' },
  }
}

/** The JSON Schema of what travels; named schemas go to the components and are referred to. */
function schemaOf(type: z.ZodType, schemas: Record<string, Json>): Json {
  const made: Json & { $defs?: Record<string, Json> } = z.toJSONSchema(type, {
    io: 'input',
    unrepresentable: 'throw',
  })
  const { $schema: _, $defs = {}, id, ...rest } = made
  for (const [name, definition] of Object.entries($defs)) {
    schemas[name] = withComponentRefs({ ...definition, id: undefined })
  }
  if (typeof id !== 'string') return withComponentRefs(rest)
  schemas[id] = withComponentRefs(rest)
  return { $ref: `#/components/schemas/${id}` }
}

const withComponentRefs = (schema: Json): Json =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'))
