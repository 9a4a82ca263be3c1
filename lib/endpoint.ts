import type { z } from 'zod'
import type { ProblemCode } from './problem-codes.ts'

/** Who may call: anyone, a wallet, a client, an attested node, the holder of a job's read token or of the token for metrics, or a console's viewer. */
export type Auth =
  | 'none'
  | 'wallet'
  | 'client'
  | 'node'
  | 'client-or-node'
  | 'client-or-read-token'
  | 'metrics-token'
  | 'console'

/** Marks a body or an answer that is raw bytes (application/octet-stream). */
export const rawBytes = { kind: 'bytes' } as const
/** Marks an answer that is a stream of server-sent events. */
export const eventStream = { kind: 'events' } as const
/** Marks an answer that is a text of a given content type, such as a page. */
export const textOf = <const T extends string>(contentType: T) =>
  ({ kind: 'text', contentType }) as const
type Text = ReturnType<typeof textOf>

/** One HTTP operation, which the ICL serves, clients call, and the OpenAPI document describes. */
export type Endpoint = {
  readonly method: 'GET' | 'POST'
  readonly path: `/${string}`
  readonly summary: string
  readonly auth: Auth
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly body?: z.ZodType | typeof rawBytes
  readonly response: z.ZodType | typeof rawBytes | typeof eventStream | Text
  /** The answer has an ETag, and is not sent again to a caller that has it already. */
  readonly hasEtag?: true
  /** Whether an answer says that the ICL cannot serve. Such an answer has status 503. */
  isUnavailable?(answer: unknown): boolean
  readonly problems: readonly ProblemCode[]
}

type Decoded<T> = T extends z.ZodType
  ? z.output<T>
  : T extends typeof rawBytes
    ? Uint8Array<ArrayBuffer>
    : undefined

/** What a handler receives and a caller passes. Parts that the endpoint lacks are absent. */
export type Input<E extends Endpoint> = {
  [K in 'params' | 'query' | 'body' as E[K] extends z.ZodType | typeof rawBytes
    ? K
    : never]: Decoded<E[K]>
}

/** What a handler returns and a caller gets. Event streams and texts are the raw response. */
export type Output<E extends Endpoint> = E['response'] extends typeof eventStream | Text
  ? Response
  : Decoded<E['response']>

/** True when the answer is passed on unparsed: a stream or a text. */
export const isRawAnswer = (
  response: Endpoint['response'],
): response is typeof eventStream | Text =>
  'kind' in response && (response.kind === 'events' || response.kind === 'text')

/** Declares endpoints of a method, and keeps their exact types. */
const declared =
  <const Method extends Endpoint['method']>(method: Method) =>
  <
    const Path extends Endpoint['path'],
    const Who extends Auth,
    const Rest extends Omit<Endpoint, 'method' | 'path' | 'auth'>,
  >(
    path: Path,
    auth: Who,
    rest: Rest,
  ) =>
    ({ method, path, auth, ...rest }) as const

/** Declares an operation that reads: its path, who may call it, and the rest. */
export const get = declared('GET')
/** Declares an operation that changes something, likewise. */
export const post = declared('POST')
