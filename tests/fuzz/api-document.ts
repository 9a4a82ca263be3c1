import { z } from 'zod'
import type { JsonSchema } from './json-schema.ts'

/** A way to show who is calling, by its name in the document. */
type Scheme = 'wallet' | 'node' | 'readToken' | 'metricsToken'

/** An answer as it is documented: what it may look like, and the codes of its problems. */
type DocumentedAnswer = {
  readonly content: Readonly<Record<string, JsonSchema | undefined>>
  readonly codes: readonly string[]
}

/** A parameter of an operation. */
type Parameter = {
  readonly name: string
  /** Headers are for who signs or resumes. */
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly schema: JsonSchema
}

/** One operation, as the ICL describes it itself. */
export type Operation = {
  readonly id: string
  readonly method: string
  readonly path: string
  /** Whichever of these is enough; none where nobody has to show who is calling. */
  readonly schemes: readonly Scheme[]
  readonly parameters: readonly Parameter[]
  readonly body: { readonly type: string; readonly schema: JsonSchema | undefined } | undefined
  readonly answers: ReadonlyMap<number, DocumentedAnswer>
}

/** The served OpenAPI document, as far as it is used here. */
export type ApiDocument = {
  readonly operations: readonly Operation[]
  readonly schemas: Readonly<Record<string, JsonSchema>>
  /** Codes of problems that every operation can have. */
  readonly common: readonly string[]
}

const Schema = z.record(z.string(), z.unknown())
const Content = z.record(z.string(), z.object({ schema: Schema.optional() }))
const OperationObject = z.object({
  operationId: z.string(),
  security: z.array(
    z.partialRecord(z.enum(['wallet', 'node', 'readToken', 'metricsToken']), z.array(z.string())),
  ),
  parameters: z.array(
    z.object({
      name: z.string(),
      in: z.enum(['path', 'query', 'header']),
      required: z.boolean(),
      schema: Schema,
    }),
  ),
  requestBody: z.object({ content: Content }).optional(),
  responses: z.record(
    z.string().regex(/^([2-5]\d\d|default)$/),
    z.object({ content: Content.optional(), 'x-problem-codes': z.array(z.string()).optional() }),
  ),
})
const OpenApi = z.object({
  paths: z.record(z.string(), z.record(z.string(), OperationObject)),
  components: z.object({
    schemas: z.record(z.string(), Schema),
    responses: z.object({ CommonProblem: z.object({ 'x-problem-codes': z.array(z.string()) }) }),
  }),
})

/** Reads a served document; throws where it has a form that this does not know. */
export function readApiDocument(json: unknown): ApiDocument {
  const { paths, components } = OpenApi.parse(json)
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Operation => {
      const [body] = Object.entries(operation.requestBody?.content ?? {})
      const schemes = operation.security.flatMap((choice) => Object.keys(choice) as Scheme[])
      return {
        id: operation.operationId,
        method: method.toUpperCase(),
        path,
        schemes,
        parameters: operation.parameters,
        body: body && { type: body[0], schema: body[1].schema },
        answers: new Map(
          Object.entries(operation.responses)
            .filter(([status]) => status !== 'default')
            .map(([status, answer]) => [
              Number(status),
              {
                content: Object.fromEntries(
                  Object.entries(answer.content ?? {}).map(([type, { schema }]) => [type, schema]),
                ),
                codes: answer['x-problem-codes'] ?? [],
              },
            ]),
        ),
      }
    }),
  )
  const common = components.responses.CommonProblem['x-problem-codes']
  return { operations, schemas: components.schemas, common }
}

const patternOf = (path: string): RegExp =>
  new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`)

/** Which operation serves a method and path; undefined when none does. */
export function createFinder({ operations }: ApiDocument) {
  const known = operations.map((operation) => ({ operation, pattern: patternOf(operation.path) }))
  return (method: string, path: string): Operation | undefined => {
    const wanted = method === 'HEAD' ? 'GET' : method
    const plain = decoded(path)
    const fitting = known.filter(({ pattern }) => pattern.test(plain))
    // An address that is written out is not taken for one with a parameter.
    const exact = fitting.filter(({ operation }) => operation.path === plain)
    const candidates = exact.length > 0 ? exact : fitting
    return candidates.find(({ operation }) => operation.method === wanted)?.operation
  }
}

/** A letter in percent-encoding is the same letter (RFC 3986); an encoded slash is none. */
function decoded(path: string): string {
  try {
    return path
      .split('/')
      .map((part) => decodeURIComponent(part).replaceAll('/', '%2F'))
      .join('/')
  } catch {
    return path
  }
}
