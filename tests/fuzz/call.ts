import type { RequestSigner } from '../../lib/request-signature.ts'
import type { Operation } from './api-document.ts'

export type Bytes = Uint8Array<ArrayBuffer>

/** Who sends a request, and how it shows that. */
export type Sender =
  | RequestSigner
  | { readonly kind: 'token'; readonly token: string; readonly jobId?: string }

/** A request as it is meant to be, before anything is done to it. */
export type Draft = {
  readonly operation: Operation
  readonly params: Readonly<Record<string, string | undefined>>
  readonly query: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  /** JSON, or bytes where the endpoint takes bytes. */
  readonly body?: unknown
  readonly sender?: Sender | undefined
  /** Hears the answer if nothing was done to the request and it was answered 2xx. */
  readonly learn?: (answer: never) => void | Promise<void>
  /** Gives back what the request is about, for another one, when something was done to it and it was refused. */
  readonly giveBack?: () => void
}

/** What a request shows of its sender. */
export type Proof = 'open' | 'sound' | 'missing' | 'wrong key' | 'stale' | 'tampered' | 'replayed'

/** A request as it goes out, signature and all. */
export type Call = {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: Headers
  readonly body: Bytes | undefined
  readonly proof: Proof
  /** Why it must not be answered 2xx, whatever else. */
  readonly refusedFor?: string | undefined
  /** What was done to it. */
  readonly changes: readonly string[]
}

/** The bytes of a JSON body. */
const jsonBytes = (value: unknown): Bytes =>
  new TextEncoder().encode(JSON.stringify(value)) as Bytes

/** A draft as a request that nothing was done to. */
export function plainCall({
  operation,
  params,
  query,
  headers,
  body,
}: Draft): Omit<Call, 'proof' | 'changes'> {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  )
  const search = new URLSearchParams(query).toString()
  const own = new Headers(headers)
  const isRaw = body instanceof Uint8Array
  if (operation.body && !own.has('content-type')) own.set('content-type', operation.body.type)
  return {
    method: operation.method,
    target: search === '' ? path : `${path}?${search}`,
    headers: own,
    body: body === undefined ? undefined : isRaw ? (body as Bytes) : jsonBytes(body),
  }
}
